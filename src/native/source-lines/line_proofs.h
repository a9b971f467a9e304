// SPDX-License-Identifier: Apache-2.0
//
// Finds the accesses of code to structures that are known exactly, and not estimated from samples.
//
// Accesses are known exactly in two cases:
//
// - The recorder noted every execution of the code, not only samples. This is so for loops that are
//   announced before they begin.
// - All samples of the code are of one structure, and all code that uses this structure uses no
//   other one. The counts of the code are exact, and so are the counts of the structure. If both
//   sums are equal, the samples missed nothing: a missed access would make the sums differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sampled_sites.h"

namespace numascape {

// A structure (by StructureNumbers) of a site. `times` of the site's executions accessed it, or all
// if that is 0.
struct KnownCell {
    uint32_t structure;
    uint64_t times;

    // The part of these counts that goes to the structure. They are the counts of an instruction,
    // or of all instructions of a site.
    Accesses part_of(Accesses counts, uint64_t executions) const;
};

struct LineProofs {
    // By the index of a site: its cells.
    std::vector<std::vector<KnownCell>> cells;
    // By the index of a sample: whether it is of a known cell.
    std::vector<bool> proved;
};

LineProofs prove_lines(SampledSites& sampled, const std::vector<StructureTotal>& totals,
                       StructureNumbers& numbers);

}  // namespace numascape
