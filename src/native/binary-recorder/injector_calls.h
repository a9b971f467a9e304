// SPDX-License-Identifier: Apache-2.0
//
// DynamoRIO's launcher library runs code of its own in the main thread of a process, which it
// writes over the program's for that. What it does not see to, and we do:
// - Other threads must not come across that code: they are held.
// - A signal for the main thread would make it give up, with its code still there: signals wait.
// - A thread that is stopped in a system call, and then made to execute something else, would find
//   the call failed with an error that programs never see (ERESTART_RESTARTBLOCK) or do not expect
//   (EINTR). The kernel would have restarted the call instead; so do we.
#pragma once

#include <optional>
#include <string>

namespace numascape {

// Why a process could not be traced, as far as that was seen.
struct Untraced {
    int error = 0;       // of attaching, or 0
    std::string reason;  // follows the process's name; "" = not known
};

// Calls inject(argument), which works on this process by means of the launcher library and says
// whether it succeeded. Returns nothing when it did.
std::optional<Untraced> watch_injection(int process, bool (*inject)(void*), void* argument);

}  // namespace numascape
