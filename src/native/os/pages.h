// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace numascape {

// The size of the pages in which accesses are counted and memory is placed. The pages of the kernel
// may be larger.
inline constexpr unsigned kPageShift = 12;
inline constexpr std::uint64_t kPageBytes = std::uint64_t{1} << kPageShift;

// The window: addresses are counted modulo 2^40. Without ASLR, the mappings of a program do not
// collide in it.
inline constexpr unsigned kWindowBits = 40;
inline constexpr std::uint64_t kWindowMask = (std::uint64_t{1} << kWindowBits) - 1;
inline constexpr std::uint64_t kWindowPages = std::uint64_t{1} << (kWindowBits - kPageShift);

inline std::uint32_t window_page(std::uint64_t address) {
    return static_cast<std::uint32_t>((address & kWindowMask) >> kPageShift);
}

}  // namespace numascape
