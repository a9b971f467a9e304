// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dr_api.h"

namespace numascape {

struct MemoryOperand {
    opnd_t operand;
    bool write;
};

// The memory operand that the instruction writes, or else the one that it reads; null if there is
// none.
MemoryOperand memory_operand(instr_t* instruction);

// Whether an instruction with a mask writes memory, and does not only read it (reads_destination).
bool masked_write(instr_t* instruction);

}  // namespace numascape
