// SPDX-License-Identifier: Apache-2.0
//
// Included by program_registers.h alone.
#pragma once

#include <cstdint>

#include "frame_registers.h"

namespace numascape {

struct ProgramRegisters {
    uint64_t flags;
    uint64_t r15, r14, r13, r12, rbp, rbx;
    uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax;

    // An integer argument of the function, 0 for the first, at the function's first instruction.
    uint64_t argument(unsigned index) const {
        constexpr uint64_t ProgramRegisters::* kArguments[] = {
            &ProgramRegisters::rdi, &ProgramRegisters::rsi, &ProgramRegisters::rdx,
            &ProgramRegisters::rcx, &ProgramRegisters::r8,  &ProgramRegisters::r9};
        return this->*kArguments[index];
    }
};

// Where a function's return address is, at its first instruction.
inline uint64_t* return_address_at(uint64_t stack_pointer) {
    return reinterpret_cast<uint64_t*>(stack_pointer);
}

// The stack pointer at the first instruction of a function that has just returned.
inline uint64_t stack_pointer_at_entry(uint64_t after_return) {
    return after_return - sizeof(uint64_t);
}

inline uint64_t frame_pointer(const ProgramRegisters& from) {
    return from.rbp;
}

// In the order of DWARF's numbers (System V ABI for AMD64, figure 3.36).
inline void to_dwarf_order(const ProgramRegisters& from, uint64_t stack_pointer, uint64_t pc,
                           uint64_t (&to)[kDwarfRegisters]) {
    const uint64_t ordered[kDwarfRegisters] = {
        from.rax, from.rdx,      from.rcx, from.rbx, from.rsi, from.rdi,
        from.rbp, stack_pointer, from.r8,  from.r9,  from.r10, from.r11,
        from.r12, from.r13,      from.r14, from.r15, pc};
    __builtin_memcpy(to, ordered, sizeof to);
}

}  // namespace numascape
