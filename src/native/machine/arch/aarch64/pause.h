// SPDX-License-Identifier: Apache-2.0
//
// Included by pause.h alone.
#pragma once

namespace numascape::machine {

// `yield` does nothing on most processors.
inline void pause_once() {
    asm volatile("isb" : : : "memory");
}

}  // namespace numascape::machine
