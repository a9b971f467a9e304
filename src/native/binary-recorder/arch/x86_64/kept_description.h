// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recorder.h"

namespace numascape {

// A copy of what the counting code needs to know about an instruction; it exists as long as the
// process.
template <typename T>
const T* keep(const T& value) {
    T copy = value;
    __builtin_clear_padding(&copy);
    return static_cast<const T*>(keep_value(&copy, sizeof copy));
}

}  // namespace numascape
