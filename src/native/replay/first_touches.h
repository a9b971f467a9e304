// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "page_owners.h"
#include "replay.h"
#include "shard_format.h"
#include "window_pages.h"

namespace numascape {

struct Touch {
    uint64_t time = 0;
    uint64_t pc = 0;
    uint64_t callers = 0;  // the id of a TouchCallersRecord; 0: not known
    uint32_t thread = 0;
    uint16_t phase = 0;
    uint8_t flags = 0;
    bool present = false;
    bool attributed = false;
    bool written = false;
    bool forgotten = false;  // the page went away since: the next touch is a first one
    bool of_region = false;  // written for a region, so not for the memory below as well
};

// The present first touch of every page, until the owner of the page is known. A page whose memory
// was freed can be touched first again.
class FirstTouches {
  public:
    FirstTouches(const PageOwners& owners, TouchColumns& out) : owners_(owners), out_(out) {}

    Touch& at(uint32_t page);
    // The owner of the pages is gone; forgets their touches.
    void end(WindowPages pages);
    // The pages left memory, so the next touch of each is a first touch again.
    void forget(WindowPages pages);
    // `visit(page, touch)` for pages with a touch.
    template <typename Visit>
    void each(WindowPages pages, Visit visit);
    // Writes the first touches of these pages; the pages belong to the owner.
    void emit(const PageOwners::Owned& owned);
    // The region ends. Writes the first touches of those pages that belong to it.
    void emit_region(uint32_t owner, WindowPages pages);
    // For pages that are unmapped (or at the end): the touches belong to the present owners, unless
    // a freed block has already taken them.
    void emit_remaining(WindowPages pages);

  private:
    void emit(uint32_t owner, uint32_t page, Touch& touch);

    const PageOwners& owners_;
    TouchColumns& out_;
    std::unordered_set<uint64_t> of_variables_;  // owner << 32 | page: those that were emitted
    using Granule = std::array<Touch, kPageCountersPerGranule>;  // allocated on demand
    std::vector<std::unique_ptr<Granule>> granules_ =
        std::vector<std::unique_ptr<Granule>>(kGranules);
};

template <typename Visit>
void FirstTouches::each(WindowPages pages, Visit visit) {
    for (uint32_t page = pages.first; page < pages.end;) {
        const uint32_t granule_end = (page / kPageCountersPerGranule + 1) * kPageCountersPerGranule;
        const auto& granule = granules_[page / kPageCountersPerGranule];
        if (granule == nullptr) {
            page = granule_end;
            continue;
        }
        for (; page < std::min(pages.end, granule_end); ++page) {
            Touch& touch = (*granule)[page % kPageCountersPerGranule];
            if (touch.present) {
                visit(page, touch);
            }
        }
    }
}

}  // namespace numascape
