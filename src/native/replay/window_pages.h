// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "page_counters.h"
#include "shard_format.h"

namespace numascape {

// The window's pages that contain a range of memory: [first, end).
struct WindowPages {
    uint32_t first = 0;
    uint32_t end = 0;

    static WindowPages of(uint64_t start, uint64_t bytes) {
        const uint32_t first = window_page(start);
        if (bytes == 0) {
            return {first, first};
        }
        const uint64_t last =
            ((start & kWindowMask) + std::min(bytes, kWindowMask) - 1) >> kPageShift;
        return {first, static_cast<uint32_t>(std::min(last + 1, kWindowPages))};
    }
    // Splits a range of memory at a boundary of the window: visit(start, bytes) for each part.
    template <typename Visit>
    static void each_part(uint64_t start, uint64_t bytes, Visit visit) {
        const uint64_t room = kWindowMask + 1 - (start & kWindowMask);
        visit(start, std::min(bytes, room));
        if (bytes > room) {
            visit(start + room, bytes - room);
        }
    }
    static WindowPages all() { return {0, static_cast<uint32_t>(kWindowPages)}; }
    bool contains(uint32_t page) const { return page >= first && page < end; }
};

}  // namespace numascape
