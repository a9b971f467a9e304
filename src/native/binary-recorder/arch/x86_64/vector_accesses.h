// SPDX-License-Identifier: Apache-2.0
//
// Counts accesses whose lanes and addresses are known only at run time, from a mask or from a
// vector of indices.
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
