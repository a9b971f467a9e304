// SPDX-License-Identifier: Apache-2.0
//
// Included by thread_registers.h alone.
#pragma once

#include <cstddef>

#include <sys/ptrace.h>
#include <sys/user.h>

namespace numascape {

using ThreadRegisters = user_regs_struct;

// Requests of ptrace that read and write all registers.
inline constexpr int kReadRegisters = PTRACE_GETREGS;
inline constexpr int kWriteRegisters = PTRACE_SETREGS;
// The place of the program counter, for PTRACE_POKEUSER.
inline constexpr long kPlaceOfProgramCounter = offsetof(user_regs_struct, rip);

inline bool read_registers(int thread, ThreadRegisters& registers) {
    return ptrace(PTRACE_GETREGS, thread, nullptr, &registers) == 0;
}
inline void write_registers(int thread, const ThreadRegisters& registers) {
    ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
}

}  // namespace numascape
