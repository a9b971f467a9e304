// SPDX-License-Identifier: Apache-2.0
//
// Included by pause.h alone.
#pragma once

#include <immintrin.h>

namespace numascape::machine {

inline void pause_once() {
    _mm_pause();
}

}  // namespace numascape::machine
