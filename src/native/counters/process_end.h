// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shard_writer.h"

namespace numascape {

// What is only known when recording ends, as records of `recorder`'s thread: the names that threads
// have come to have, and the time. Threads may still be counting: their tables stay as they are.
void write_process_end(ShardWriter& shard, ThreadRecorder& recorder);

}  // namespace numascape
