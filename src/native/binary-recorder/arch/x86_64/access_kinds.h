// SPDX-License-Identifier: Apache-2.0
//
// Determines which instructions access data, and which of them are counted in a special way.
#pragma once

#include <cstdint>

#include "dr_api.h"

namespace numascape {

// Whether the instruction reads or writes memory, and not only to fill or empty a cache.
bool touches_data(instr_t* instruction);

// The ways to count instructions that cannot be described by plain operands.
enum class SpecialAccess : uint8_t {
    kNone,
    kRepeatedString,
    kMasked,
    kGathered,
    kBitTest,
    kSavedState
};
SpecialAccess special_access(instr_t* instruction);
// The operand with the number of the bit, of bt, bts, btr and btc.
opnd_t bit_number(instr_t* instruction);

}  // namespace numascape
