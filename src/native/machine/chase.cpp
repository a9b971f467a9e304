// SPDX-License-Identifier: Apache-2.0
#include "chase.h"

#include <utility>

namespace numascape::machine {

namespace {

// splitmix64 (S. Vigna, 2015): far better than needed to confuse a prefetcher, and quick.
std::uint64_t random(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

}  // namespace

void make_cycle(Link* lines, std::size_t count, std::uint64_t seed) {
    for (std::size_t i = 0; i < count; i++) lines[i].next = &lines[i];
    for (std::size_t i = count; i-- > 1;) {
        std::swap(lines[i].next, lines[random(seed) % i].next);
    }
}

const Link* chase(const Link* from, std::size_t steps) {
    const Link* at = from;
    for (std::size_t done = 0; done < steps; done += 32) {
#pragma GCC unroll 32
        for (int i = 0; i < 32; i++) at = at->next;
        // Hides the result from the optimiser.
        asm volatile("" : "+r"(at));
    }
    return at;
}

}  // namespace numascape::machine
