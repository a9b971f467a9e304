// SPDX-License-Identifier: Apache-2.0
//
// Included by glibc_thread.h alone.
#pragma once

#include <cstdint>

namespace numascape {

// In what a pthread_t points to.
inline constexpr uint64_t kThreadNumberInPthread = 0x2d0;

}  // namespace numascape
