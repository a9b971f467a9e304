// SPDX-License-Identifier: Apache-2.0
//
// Included by register_set.h alone.
#pragma once

#include <cstdint>

#include "dr_api.h"

namespace numascape {

// A set of general 64-bit registers. The bit of a register is its number in instructions.
using RegisterSet = uint32_t;
inline constexpr RegisterSet kStackPointerBit = 1u << 4;
inline constexpr RegisterSet kAccumulatorBit = 1u << 0;

// True for the general 64-bit registers; `bit` gives its number 0..15.
bool general_register(reg_id_t reg, uint32_t& bit);
RegisterSet registers_of(opnd_t operand);

// How to compute the lowest address of a group from the registers of the program, at the place
// where the group is counted.
struct GroupAddress {
    static constexpr uint8_t kNone = 16;
    int64_t distance;
    uint8_t base;   // numbers of registers, in the instruction set's order
    uint8_t index;  // times scale
    uint8_t scale;
    bool known;
    bool accumulator_saved;  // in the slot of Role::kFlags, if the address needs it
    bool of_thread;          // relative to the thread pointer
};
}  // namespace numascape
