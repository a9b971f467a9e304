// SPDX-License-Identifier: Apache-2.0
//
// Included by dynamorio_registers.h alone.
#pragma once

#include <cstdint>

#include "dr_api.h"
#include "program_registers.h"

namespace numascape {

inline constexpr reg_id_t kStackPointerRegister = DR_REG_RSP;
inline constexpr reg_id_t kFramePointerRegister = DR_REG_RBP;
// The registers of the first arguments of a function.
inline constexpr reg_id_t kArgumentRegisters[] = {DR_REG_RDI, DR_REG_RSI, DR_REG_RDX};
// The register through which DynamoRIO finds its storage of the thread.
inline constexpr reg_id_t kStorageRegister = DR_SEG_GS;

// A word of this storage.
inline void write_storage(uint64_t offset, uint64_t value) {
    __asm__ volatile("movq %1, %%gs:(%0)" : : "r"(offset), "r"(value) : "memory");
}
inline uint64_t read_storage(uint64_t offset) {
    uint64_t value = 0;
    __asm__ volatile("movq %%gs:(%1), %0" : "=r"(value) : "r"(offset));
    return value;
}

inline ProgramRegisters program_registers(const dr_mcontext_t& context) {
    return {.flags = 0,
            .r15 = context.r15,
            .r14 = context.r14,
            .r13 = context.r13,
            .r12 = context.r12,
            .rbp = context.xbp,
            .rbx = context.xbx,
            .r11 = context.r11,
            .r10 = context.r10,
            .r9 = context.r9,
            .r8 = context.r8,
            .rdi = context.xdi,
            .rsi = context.xsi,
            .rdx = context.xdx,
            .rcx = context.xcx,
            .rax = context.xax};
}

// The registers of the first arguments of a system call.
inline void set_call_arguments(dr_mcontext_t& context, const uint64_t (&arguments)[3]) {
    context.xdi = arguments[0];
    context.xsi = arguments[1];
    context.xdx = arguments[2];
}

}  // namespace numascape
