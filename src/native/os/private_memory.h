// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "os.h"

namespace numascape {

// Sparse zeroed memory for the recorder. Null if there is none.
template <typename T>
T* map_private(size_t bytes) {
    void* memory = os::map_sparse(bytes);
    return os::failed(memory) ? nullptr : static_cast<T*>(memory);
}

}  // namespace numascape
