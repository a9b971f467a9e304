// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace numascape {

struct ThreadRecorder;

// The code that makes an access. If this is the first touch of a page, `find_callers` identifies
// its callers (0: not known). Null: they are not known.
struct AccessingCode {
    uint64_t pc = 0;  // 0: the kernel, in a system call
    uint64_t (*find_callers)(ThreadRecorder& self, const void* from) = nullptr;
    const void* from = nullptr;
};

}  // namespace numascape
