// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dr_api.h"

namespace numascape {

struct MemoryOperand {
    opnd_t operand;
    bool write;
};

// The one that the instruction writes, or else the one that it reads; null if there is none.
MemoryOperand memory_operand(instr_t* instruction);

// It writes selected lanes only: it does not read its destination.
bool masked_write(instr_t* instruction);

}  // namespace numascape
