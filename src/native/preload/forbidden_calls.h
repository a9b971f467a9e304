// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace numascape {

// Whether this system call, by its first argument, forbids system calls: the kernel then kills the
// process at its next call, even if the call is ours.
constexpr bool forbids_calls(long number, long first) {
    return (number == SYS_seccomp &&
            (first == SECCOMP_SET_MODE_STRICT || first == SECCOMP_SET_MODE_FILTER)) ||
           (number == SYS_prctl && first == PR_SET_SECCOMP);
}

}  // namespace numascape
