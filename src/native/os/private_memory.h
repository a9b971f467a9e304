// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "os.h"
#include "pages.h"

namespace numascape {

inline std::atomic<uint64_t> next_private{0x0e00'0000'0000};

// Sparse zeroed memory for the recorder, far from where Linux puts the mappings of a program, which
// must stay within one 2^40 window. Null if there is none.
template <typename T>
T* map_private(size_t bytes) {
    const uint64_t rounded = (bytes + kPageBytes - 1) & ~(kPageBytes - 1);
    void* hint = reinterpret_cast<void*>(next_private.fetch_add(rounded));
    void* memory = os::map_sparse(rounded, hint);
    return os::failed(memory) ? nullptr : static_cast<T*>(memory);
}

}  // namespace numascape
