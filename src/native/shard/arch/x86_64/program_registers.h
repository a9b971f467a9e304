// SPDX-License-Identifier: Apache-2.0
//
// Included by program_registers.h alone.
#pragma once

#include <cstdint>

namespace numascape {

struct ProgramRegisters {
    uint64_t flags;
    uint64_t r15, r14, r13, r12, rbp, rbx;
    uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax;
};

inline uint64_t frame_pointer(const ProgramRegisters& from) {
    return from.rbp;
}

// In the order of DWARF's numbers (System V ABI for AMD64, figure 3.36).
inline void to_dwarf_order(const ProgramRegisters& from, uint64_t stack_pointer, uint64_t pc,
                           uint64_t (&to)[17]) {
    const uint64_t ordered[17] = {from.rax, from.rdx,      from.rcx, from.rbx, from.rsi, from.rdi,
                                  from.rbp, stack_pointer, from.r8,  from.r9,  from.r10, from.r11,
                                  from.r12, from.r13,      from.r14, from.r15, pc};
    __builtin_memcpy(to, ordered, sizeof to);
}

}  // namespace numascape
