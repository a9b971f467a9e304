// SPDX-License-Identifier: Apache-2.0
//
// Computes which source lines read and write which structure.
//
// Two totals are known exactly: the accesses of each instruction, and the accesses to each
// structure. For some instructions, the structure is known exactly (line_proofs.h); for the others,
// samples of their executions show it. The shares of the samples are fitted to the two totals
// (proportional_fit.h).
#pragma once

#include <cstdint>
#include <vector>

namespace numascape {

struct Accesses {
    uint64_t reads = 0;
    uint64_t writes = 0;

    bool any() const { return reads != 0 || writes != 0; }
};

// One instruction of a site in a phase. All accesses of one execution of a site go to the same
// page. `executions` is how often the instruction was executed, 0 if that differs within the site.
// `place` is a number of its source line.
struct SiteAccess {
    uint64_t site;
    uint32_t phase;
    uint32_t place;
    Accesses counts;
    uint64_t executions;
};

// A structure that samples of a site show. `whole` is the number of its executions that are exact,
// because every one was noted.
struct SiteSample {
    uint64_t site;
    uint32_t phase;
    uint32_t structure;
    double weight;
    double whole;
};

// All accesses to a structure in a phase.
struct StructureTotal {
    uint32_t structure;
    uint32_t phase;
    Accesses counts;
};

// The accesses of a source line to a structure; `estimated` of them are not certain.
struct LineCount {
    uint32_t structure;
    uint32_t phase;
    uint32_t place;
    Accesses counts;
    uint64_t estimated;
};

// In order of structure, phase and place. The sums over the places are `totals`, in which each
// structure and phase is there once. Accesses whose line is unknown have the place `nowhere`.
// Estimates are rounded in order of their places.
std::vector<LineCount> count_lines(std::vector<SiteAccess> accesses,
                                   std::vector<SiteSample> samples,
                                   std::vector<StructureTotal> totals, uint32_t nowhere);

}  // namespace numascape
