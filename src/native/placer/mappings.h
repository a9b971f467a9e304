// SPDX-License-Identifier: Apache-2.0
//
// The effects of the program's system calls on placed memory.
#pragma once

#include "blocks.h"
#include "memory_calls.h"

namespace numascape::placer {

// Makes the call, and follows blocks that it ends or moves. Returns the kernel's result.
long call_and_follow(SystemCall call);

}  // namespace numascape::placer
