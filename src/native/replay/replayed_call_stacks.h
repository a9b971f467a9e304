// SPDX-License-Identifier: Apache-2.0
//
// The call stacks of allocations. They have no time, and are valid in forked processes, too.
#pragma once

#include "replay.h"
#include "shard_reader.h"

namespace numascape {

bool is_of_call_stack(const RecordView& record);
// Adds what such a record says to the replay, if this call stack or code is new.
void add_call_stack(const RecordView& record, Replay& replay);

}  // namespace numascape
