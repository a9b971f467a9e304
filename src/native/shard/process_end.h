// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shard_writer.h"

namespace numascape {

// Writes what is only known at the end of the recording, as records of `recorder`'s thread: the
// last names of threads, and the time. Threads may still be counting, so their tables do not
// change.
void write_process_end(ShardWriter& shard, ThreadRecorder& recorder);

}  // namespace numascape
