// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "os.h"
#include "shard_format.h"

namespace numascape {

// Sparse zeroed memory of the recorder's own, far from where Linux puts a program's mappings, which
// must stay within one 2^40 window; null when there is none.
template <typename T>
T* map_private(size_t bytes) {
    constexpr uint64_t kBase = 0x0e00'0000'0000;
    static std::atomic<uint64_t> next{kBase};
    const uint64_t rounded = (bytes + kPageBytes - 1) & ~(kPageBytes - 1);
    void* hint = reinterpret_cast<void*>(next.fetch_add(rounded));
    void* memory = os::map_sparse(rounded, hint);
    return os::failed(memory) ? nullptr : static_cast<T*>(memory);
}

}  // namespace numascape
