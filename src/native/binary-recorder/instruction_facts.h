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

// False: it may leave its destination as it was.
bool always_writes(instr_t* instruction);

// It may end in a signal: its registers must be the program's.
bool may_fault(instr_t* instruction);

// Bytes that it accesses at this memory operand.
uint32_t accessed_bytes(instr_t* instruction, opnd_t operand);

// It only lets time pass, in a loop that waits for another thread.
bool only_waits(instr_t* instruction);

// It reads the memory operand that is listed as written.
bool reads_destination(instr_t* instruction);

}  // namespace numascape
