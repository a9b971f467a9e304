// SPDX-License-Identifier: Apache-2.0
//
// Reads the call frame information of a module from memory: .eh_frame, through the search table in
// .eh_frame_hdr (Linux Standard Base 5.0, section 10.6). The program's memory may hold anything:
// everything is bounds-checked, and read with system calls that cannot fault.
#pragma once

#include <cstdint>

#include "call_frame_rule.h"

namespace numascape {

struct ModuleFrames {
    uint64_t start = 0;  // of the module's addresses
    uint64_t end = 0;
    uint64_t table = 0;  // .eh_frame_hdr; 0 = the module has none
};

// The module whose ELF header is mapped at `start`.
ModuleFrames find_frame_information(uint64_t start, uint64_t end);

// The rule for the code at `pc`, which must lie in the module.
CallFrameRule read_call_frame_rule(const ModuleFrames& module, uint64_t pc);

// The code [start, end) that the frame description of `pc` covers; false if there is none.
bool find_described_code(const ModuleFrames& module, uint64_t pc, uint64_t& start, uint64_t& end);

}  // namespace numascape
