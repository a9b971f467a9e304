// SPDX-License-Identifier: Apache-2.0
//
// Sets memory policies of the kernel for a rule and a range of pages, and checks whether they were
// kept.
#pragma once

#include <cstdint>

#include "pages.h"
#include "plan.h"

namespace numascape::placer {

inline std::uint64_t page_up(std::uint64_t address) {
    return (address + kPageBytes - 1) & ~(kPageBytes - 1);
}
inline std::uint64_t page_down(std::uint64_t address) {
    return address & ~(kPageBytes - 1);
}

// An instance of a structure, and the range of its pages that are placed, [first, end).
struct Placed {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t first;
    std::uint64_t end;
    std::uint32_t rule;
};

// Sets the policies of the pages; with `moves`, those already touched move there. Returns the
// number of system calls that the kernel refused.
std::uint32_t place(const Plan& plan, const Placed& placed, bool moves);

// How many ranges of pages with separate policies place() makes.
std::uint32_t range_count(const Plan& plan, const Placed& placed);

// Asks the kernel where the pages are, and adds them to `report` and `nodes` (pages by node).
void count(const Plan& plan, const Placed& placed, RuleReport& report, std::uint64_t* nodes);

}  // namespace numascape::placer
