// SPDX-License-Identifier: Apache-2.0
//
// Checks a running process in /proc before we attach to it.
#pragma once

#include <string>

namespace numascape {

struct Untraced;

struct Target {
    int pid = 0;
    std::string executable;  // path of the running file
    std::string name;        // its last component, by which DynamoRIO finds its options
};

// Fills `target`, and returns why the process cannot be recorded: one line, "" when it can be. If
// the process belongs to another user, `directory` is given to this user, so that the process can
// write there.
std::string examine(int pid, const std::string& home, const std::string& directory, Target& target);

// Why tracing failed after `examine` found nothing against it: one line.
std::string why_not_traced(const Target& target, const Untraced& untraced);

// Whether our client is mapped in the process.
bool is_recorded(int pid);

// A thread of the process that no signal reaches, because it is stopped, or sleeps in the kernel
// (states T, t and D of proc(5)); 0 if there is none. If there are several, returns `known` if it
// is one of them, otherwise any.
int unreachable_thread(int pid, int known);

// The thread that our client created in the process to receive the request to detach; 0 if there is
// none.
int release_thread(int pid);

}  // namespace numascape
