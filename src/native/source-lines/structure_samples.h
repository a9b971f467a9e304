// SPDX-License-Identifier: Apache-2.0
//
// Turns samples of owners into samples of structures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "line_counts.h"

namespace numascape {

// The owner of memory that a site accessed; see SampleColumns in replay.h.
struct OwnerSamples {
    size_t rows;
    const uint64_t* site;
    const uint32_t* phase;
    const uint32_t* owner;
    const double* weight;
    const double* whole;
};

// A sample on a page that a group of owners shares.
struct SharedSample {
    uint64_t site;
    uint32_t phase;
    uint32_t group;
    double weight;
};

// The share of a group's samples that an owner has.
struct GroupShare {
    uint32_t group;
    uint32_t owner;
    double share;
};

// The structure of an owner that has none, or several.
constexpr uint32_t kNoStructure = ~uint32_t{0};

// Adds the samples to `samples`, one row for each site, phase and structure. Samples of owners
// without a structure are left out. `structures` has the structure of each owner.
void add_owned(const OwnerSamples& owned, std::span<const uint32_t> structures,
               std::vector<SiteSample>& samples);
// Likewise; a sample is divided among the owners of its group.
void add_shared(std::vector<SharedSample> shared, std::vector<GroupShare> shares,
                std::span<const uint32_t> structures, std::vector<SiteSample>& samples);

}  // namespace numascape
