// SPDX-License-Identifier: Apache-2.0
//
// Counts accesses of which a mask or a vector of indices says, at run time, which lanes access
// memory, and where.
#pragma once

#include "counting_code.h"
#include "memory_operand.h"
#include "scratch.h"
#include "special_accesses.h"

namespace numascape {

void insert_masked(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                   const MemoryOperand& memory, const SpecialPlace& place);
void insert_gathered(const Emitter& emit, PlaceScratch& scratch, instr_t* instruction,
                     const MemoryOperand& memory, const SpecialPlace& place);

}  // namespace numascape
