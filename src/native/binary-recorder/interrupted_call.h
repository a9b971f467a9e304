// SPDX-License-Identifier: Apache-2.0
//
// Stopping a thread of another process interrupts the system call in which it waits. The kernel
// makes the call again when the thread continues, but not if the thread continues elsewhere or gets
// a signal with a handler. We therefore set the thread back to before the call.
#pragma once

#include <sys/user.h>

namespace numascape {

// Whether a signal with a handler is about to end the thread's call. The kernel then decides how.
bool signal_ends_call(int process, int thread, const user_regs_struct& registers);

// Changes the `registers` of a stopped thread so that it makes the interrupted call again. A sleep
// continues with the remaining time, if the program asked for it. False if no call was interrupted.
// A signal that comes later than the caller looked (signal_ends_call) comes before the call: what
// the kernel has stored for a call to be restarted must never be what the program sees.
bool restart_call(int process, user_regs_struct& registers);

}  // namespace numascape
