// SPDX-License-Identifier: Apache-2.0
//
// The instructions of call frame information (DWARF 5, section 6.4.2), from which the rules of each
// place of a function follow.
#pragma once

#include <cstdint>

#include "frame_registers.h"
#include "program_bytes.h"
#include "stored_pointer.h"

namespace numascape {

// Where a caller's register is.
struct RegisterRule {
    enum class Kind : uint8_t { kSame, kUndefined, kAtFrameAddress, kAtFramePointer, kOther };
    Kind kind = Kind::kSame;
    int64_t offset = 0;
};

// The rules at one place of a function.
struct FrameRules {
    enum class Kind : uint8_t { kRegister, kAtFramePointer, kOther };
    Kind kind = Kind::kOther;
    uint64_t base = 0;  // the register
    int64_t offset = 0;
    RegisterRule frame_pointer;
    RegisterRule return_address;

    RegisterRule* of(uint64_t number) {
        return number == kFramePointer   ? &frame_pointer
               : number == kReturnColumn ? &return_address
                                         : nullptr;
    }
};

// A common information entry: what the functions of a compilation unit share.
struct CommonEntry {
    bool usable = false;
    bool has_augmentation = false;
    uint8_t pointers = pointer_encoding::kAbsolute;
    uint64_t code_factor = 1;
    int64_t data_factor = 1;
    FrameRules initial;
};

// Runs the instructions of a function that begins at `start`, up to the code at `pc`. False if one
// of them is not understood.
bool run_frame_program(const CommonEntry& common, uint64_t start, uint64_t pc, ProgramBytes& from,
                       FrameRules& rules);

}  // namespace numascape
