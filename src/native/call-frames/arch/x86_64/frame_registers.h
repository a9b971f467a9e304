// SPDX-License-Identifier: Apache-2.0
//
// Included by frame_registers.h alone. System V ABI for AMD64, figure 3.36.
#pragma once

#include <cstdint>

namespace numascape {

inline constexpr uint64_t kFramePointer = 6;  // rbp
inline constexpr uint64_t kStackPointer = 7;  // rsp
inline constexpr uint64_t kReturnColumn = 16;
// rax rdx rcx rbx rsi rdi rbp rsp r8-r15, and the return address.
inline constexpr uint64_t kDwarfRegisters = kReturnColumn + 1;
// A call pushes the return address: it is the word below the frame's address.
inline constexpr int64_t kReturnOffset = -8;
// Functions that call no others may use this much memory below the stack pointer (the red zone).
inline constexpr uint64_t kRedZoneBytes = 128;

}  // namespace numascape
