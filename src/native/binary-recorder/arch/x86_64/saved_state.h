// SPDX-License-Identifier: Apache-2.0
//
// The places at which xsave and related instructions store the state components of the CPU.
#pragma once

#include <cstdint>

namespace numascape {

void saved_state_init();

struct StateExtent {
    uint64_t start;
    uint64_t bytes;
};
inline constexpr uint32_t kMaxStateExtents = 68;

// The memory that the instruction accesses: the header and the requested components. The CPU may
// leave out components in their initial state; it does not report which.
uint32_t state_extents(uint64_t area, uint64_t asked, bool compacted,
                       StateExtent (&found)[kMaxStateExtents]);

// Whether the area has the compacted format, which xsavec writes.
bool is_compacted(uint64_t area);

}  // namespace numascape
