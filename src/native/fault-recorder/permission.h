// SPDX-License-Identifier: Apache-2.0
//
// The permission to use perf_event_open(2) and process_vm_readv(2).
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <sys/uio.h>
#include <unistd.h>

namespace numascape {

// Whether a filter decides which system calls this process may make, as in most containers.
inline bool has_seccomp_filter() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Seccomp:")) return line.ends_with('2');
    }
    return false;
}

// Advice for the user if the kernel refuses each event with this error; empty if there is none.
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

// Why this user may do less with process `pid` than with a process of this user's.
inline std::string foreign(pid_t pid) {
    return "process " + std::to_string(pid) +
           " belongs to another user, or has other privileges: run numascape as its user, or with "
           "sudo";
}

// The error with which the kernel refuses to read the byte at this address; 0 if it does not.
inline int error_of_reading(pid_t pid, uint64_t address) {
    char byte = 0;
    const iovec into{&byte, 1};
    const iovec from{reinterpret_cast<void*>(address), 1};
    return process_vm_readv(pid, &into, 1, &from, 1, 0) == 1 ? 0 : errno;
}

// Why the memory of process `pid` cannot be read; empty if it can.
inline std::string why_not_readable(pid_t pid) {
    const char own = 0;
    if (const int error = error_of_reading(getpid(), reinterpret_cast<uint64_t>(&own));
        error == EPERM) {
        return "this container forbids process_vm_readv(2), which reads the code of the program: "
               "start it with --cap-add SYS_PTRACE, or with --security-opt seccomp=unconfined";
    } else if (error != 0) {
        return std::string(
                   "this kernel has no process_vm_readv(2), which reads the code of the "
                   "program: ") +
               std::strerror(error);
    }
    uint64_t first = 0;
    std::ifstream("/proc/" + std::to_string(pid) + "/maps") >> std::hex >> first;
    if (error_of_reading(pid, first) != EPERM) return "";  // or the mapping has gone
    int scope = 0;
    std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
    if (scope > 0) {
        return "kernel.yama.ptrace_scope is " + std::to_string(scope) +
               ", so the code of a process that runs already may not be read: use sudo, or as "
               "root: sysctl kernel.yama.ptrace_scope=0";
    }
    return foreign(pid);
}

}  // namespace numascape
