// SPDX-License-Identifier: Apache-2.0
//
// Included by sampled_registers.h alone.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include <asm/perf_regs.h>
#include <linux/perf_event.h>

#include "call_frame_rule.h"

namespace numascape {

inline constexpr size_t kGeneralRegisters = 16;

// `general` is in the order of the numbers of the registers in instructions: rax, rcx, rdx, rbx,
// rsp, rbp, rsi, rdi, r8 to r15.
struct SampledRegisters {
    std::array<uint64_t, kGeneralRegisters> general;
    uint64_t flags;
    uint64_t pc;
};

// Bits 0 to 9 and 16 to 23. The bits between them are segment registers.
inline constexpr uint64_t kWantedRegisters = 0xff03ff;
// The registers as they are in a sample: the kind of process, and then the registers in the order
// of their bits.
struct RecordedRegisters {
    uint64_t abi;
    uint64_t values[18];
};

inline CallFrame innermost_frame(const SampledRegisters& registers) {
    return {registers.pc, registers.general[4], registers.general[5]};
}

// Moves `from` behind the registers. False for a process of 32 bits, or a sample without registers,
// such as one of a thread of the kernel.
inline bool read_registers(const char*& from, const char* end, SampledRegisters& registers) {
    RecordedRegisters recorded{};
    const auto left = static_cast<size_t>(end - from);
    if (left < sizeof recorded.abi) {
        return false;
    }
    std::memcpy(&recorded.abi, from, sizeof recorded.abi);
    if (recorded.abi == PERF_SAMPLE_REGS_ABI_NONE || left < sizeof recorded) {
        from += sizeof recorded.abi;
        return false;
    }
    std::memcpy(&recorded, from, sizeof recorded);
    from += sizeof recorded;
    const uint64_t* v = recorded.values;
    registers.general = {v[PERF_REG_X86_AX], v[PERF_REG_X86_CX], v[PERF_REG_X86_DX],
                         v[PERF_REG_X86_BX], v[PERF_REG_X86_SP], v[PERF_REG_X86_BP],
                         v[PERF_REG_X86_SI], v[PERF_REG_X86_DI]};
    for (size_t i = 0; i < 8; ++i) {
        registers.general[8 + i] = v[10 + i];
    }
    registers.flags = v[PERF_REG_X86_FLAGS];
    registers.pc = v[PERF_REG_X86_IP];
    return recorded.abi == PERF_SAMPLE_REGS_ABI_64;
}

}  // namespace numascape
