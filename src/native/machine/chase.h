// SPDX-License-Identifier: Apache-2.0
//
// Pointer chasing: each load's address is the value of the one before, so that loads cannot
// overlap, and the time per load is the latency of the memory or cache with the lines.
#pragma once

#include <cstddef>
#include <cstdint>

namespace numascape::machine {

// A cache line that holds the address of the next one in the cycle.
struct alignas(64) Link {
    const Link* next;
};

// Makes one cycle through all `count` lines in random order (Sattolo's algorithm), the same for
// the same seed. `count` >= 1. Prefetchers find no pattern in it.
void make_cycle(Link* lines, std::size_t count, std::uint64_t seed);

// Follows `steps` links, rounded up to a multiple of 32, and returns where that ended.
const Link* chase(const Link* from, std::size_t steps);

}  // namespace numascape::machine
