// SPDX-License-Identifier: Apache-2.0
//
// Memory operands whose lanes are selected by a mask.
#pragma once

#include <cstdint>

#include "dr_api.h"

namespace numascape {

// Whether the instruction accesses only the memory of selected lanes. Not all instructions with a
// mask do.
bool is_masked(instr_t* instruction);

// Whether the top bits of a vector's elements select the lanes, as in the masked moves of AVX and
// in masked moves of bytes.
bool is_masked_by_vector(int opcode);
bool is_masked_by_bytes(int opcode);

struct MaskedLanes {
    uint32_t element_bytes;  // in memory
    uint32_t lanes;          // bits of the mask
    uint32_t bytes;          // of the memory operand
    bool packed;             // the selected lanes use the first elements, in order
    // If memory has fewer elements than there are lanes, the lanes use them in turn (broadcasts).
};
MaskedLanes masked_lanes(instr_t* instruction, uint32_t operand_bytes);

}  // namespace numascape
