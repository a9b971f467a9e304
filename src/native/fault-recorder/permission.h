// SPDX-License-Identifier: Apache-2.0
//
// The permission to use perf_event_open(2).
#pragma once

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>

namespace numascape {

// Whether a filter decides which system calls this process may make, as in most containers.
inline bool has_seccomp_filter() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Seccomp:")) return line.ends_with('2');
    }
    return false;
}

// Advice for the user if the kernel refuses an event with this error; empty if there is none.
inline std::string advice_for(int error) {
    if (error != EACCES && error != EPERM) return "";
    std::string level = "?";
    std::getline(std::ifstream("/proc/sys/kernel/perf_event_paranoid"), level);
    const bool permits = level != "?" && std::atoi(level.c_str()) <= 2;
    if (permits && error == EPERM && has_seccomp_filter()) {
        return " (this container forbids perf_event_open(2): start it with --cap-add PERFMON, or "
               "with --security-opt seccomp=unconfined)";
    }
    return " (kernel.perf_event_paranoid is " + level +
           "; as root: sysctl kernel.perf_event_paranoid=2)";
}

}  // namespace numascape
