// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>

#include "os.h"

namespace numascape {

// Whether the calling thread has the capability, for example CAP_IPC_LOCK (one of the first 32).
inline bool has_capability(int capability) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
    return os::call(SYS_capget, reinterpret_cast<long>(&header), reinterpret_cast<long>(sets)) ==
               0 &&
           (sets[0].effective & (1U << capability)) != 0;
}

}  // namespace numascape
