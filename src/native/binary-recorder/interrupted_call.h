// SPDX-License-Identifier: Apache-2.0
//
// Stopping a thread of another process interrupts the system call in which it waits. The kernel
// makes the call again when the thread continues, but not if the thread continues elsewhere or gets
// a signal with a handler. We therefore set the thread back to before the call. A signal that is
// pending, or arrives later, is then delivered before the call: DynamoRIO ends the call as the
// kernel would have done.
#pragma once

#include <cstdint>
#include <optional>

#include "thread_registers.h"

namespace numascape {

// Which handler of a signal ends the call with EINTR. A patch of DynamoRIO reads these numbers.
enum class CallEnds : uint64_t { kNever = 0, kAnyHandler = 1, kWithoutRestart = 2 };

// Changes the `registers` of a stopped thread so that it makes the interrupted call again. A sleep
// continues with the remaining time, if the program asked for it. Returns nothing if no call was
// interrupted.
std::optional<CallEnds> restart_call(int process, ThreadRegisters& registers);

}  // namespace numascape
