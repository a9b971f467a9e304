// SPDX-License-Identifier: Apache-2.0
//
// Facts about instructions that DynamoRIO's tables do not contain, or contain wrongly. A test
// compares them with another decoder (tests/fuzz/instructions).
#pragma once

#include <cstdint>

#include "dr_api.h"

namespace numascape {

// Arithmetic flags, as EFLAGS_READ_ bits: those that the instruction reads, and those that it
// writes whatever its operands are. A shift by zero writes none.
struct FlagUse {
    uint32_t reads;
    uint32_t writes;
};
FlagUse flag_use(instr_t* instruction);

// False if the instruction may leave its destination unchanged.
bool always_writes(instr_t* instruction);

// Whether the instruction may cause a signal. If so, all registers must have the values of the
// program.
bool may_fault(instr_t* instruction);

// The number of bytes that the instruction accesses at this memory operand.
uint32_t accessed_bytes(instr_t* instruction, opnd_t operand);

// Whether the instruction only lets time pass, in a loop that waits for another thread.
bool only_waits(instr_t* instruction);

// Whether the instruction reads the memory operand that is listed as written.
bool reads_destination(instr_t* instruction);

}  // namespace numascape
