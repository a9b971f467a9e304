// SPDX-License-Identifier: Apache-2.0
//
// DynamoRIO's launcher library lets the main thread of a process make system calls that map
// DynamoRIO, and then starts DynamoRIO there. It does not handle these cases, so we do:
// - Other threads must not change mappings meanwhile. They are held until DynamoRIO has sent
//   each thread the signal with which it takes over the thread.
// - A signal for the main thread would make the library give up. Signals are therefore held back.
// - A thread that is stopped in a system call and then executes something else would see the call
//   fail with an error that programs never see (ERESTART_RESTARTBLOCK) or do not expect (EINTR).
//   The kernel would have restarted the call, so we do that (interrupted_call.h).
#pragma once

#include <optional>
#include <string>

namespace numascape {

// Why a process could not be traced, as far as this is known.
struct Untraced {
    int error = 0;       // of attaching, or 0
    std::string reason;  // follows the process's name; "" = not known
};

// Calls inject(argument), which uses the launcher library on this process and returns whether it
// succeeded. Returns nothing on success. `file` describes the threads for DynamoRIO
// (held_threads.h).
std::optional<Untraced> watch_injection(int process, const std::string& file, bool (*inject)(void*),
                                        void* argument);

}  // namespace numascape
