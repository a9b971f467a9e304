// SPDX-License-Identifier: Apache-2.0
//
// The counts of special accesses, whose extent is known only at run time. It depends on the
// processor which instructions make special accesses.
#pragma once

#include "dr_api.h"

namespace numascape {

// Whether an execution of the instruction counts reads and writes. `exact`: it counts once for each
// execution of its block.
struct SpecialCounts {
    bool reads;
    bool writes;
    bool exact;
};
// arch/
SpecialCounts special_counts(instr_t* instruction);

}  // namespace numascape
