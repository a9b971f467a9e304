// SPDX-License-Identifier: Apache-2.0
//
// Included by glibc_thread.h alone.
#pragma once

#include <cstdint>

namespace numascape {

// An offset in glibc's `struct pthread`, to which a pthread_t points.
inline constexpr uint64_t kThreadNumberInPthread = 0x2d0;

}  // namespace numascape
