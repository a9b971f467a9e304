// SPDX-License-Identifier: Apache-2.0
//
// What a special access counts: one whose extent is known only at run time. Which instructions
// these are depends on the processor.
#pragma once

#include "dr_api.h"

namespace numascape {

// What an execution of the instruction counts. `exact`: it counts once for each execution of its
// block.
struct SpecialCounts {
    bool reads;
    bool writes;
    bool exact;
};
// arch/
SpecialCounts special_counts(instr_t* instruction);

}  // namespace numascape
