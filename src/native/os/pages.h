// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace numascape {

// The page in which accesses are counted and placed; the kernel's own may be larger.
inline constexpr unsigned kPageShift = 12;
inline constexpr std::uint64_t kPageBytes = std::uint64_t{1} << kPageShift;

}  // namespace numascape
