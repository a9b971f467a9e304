// SPDX-License-Identifier: Apache-2.0
//
// Included by signal_frame.h alone.
#pragma once

#include <cstdint>

#include <ucontext.h>

namespace numascape {

inline uint64_t interrupted_stack_pointer(const ucontext_t& interrupted) {
    return static_cast<uint64_t>(interrupted.uc_mcontext.gregs[REG_RSP]);
}

}  // namespace numascape
