// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "page_owners.h"
#include "replay.h"
#include "shard_format.h"
#include "window_pages.h"

namespace numascape {

struct Touch {
    uint64_t time = 0;
    uint64_t pc = 0;
    uint32_t thread = 0;
    uint16_t phase = 0;
    uint8_t flags = 0;
    bool present = false;
    bool attributed = false;
};

// The last first touch of every page, until it is known whose page that was.
class FirstTouches {
  public:
    FirstTouches(const PageOwners& owners, TouchColumns& out) : owners_(owners), out_(out) {}

    Touch& at(uint32_t page);
    // The pages left memory: the next touch of each is a first one again.
    void forget(WindowPages pages);
    // The pages are `owner`'s.
    void emit(const PageOwners::Owned& owned);
    // For pages that leave (or at the end): they are whose they are now, unless a block that was
    // freed there already told.
    void emit_remaining(WindowPages pages);

  private:
    template <typename Visit>
    void each(WindowPages pages, Visit visit);
    void emit(uint32_t owner, uint32_t page, Touch& touch);

    const PageOwners& owners_;
    TouchColumns& out_;
    using Granule = std::array<Touch, kSlotsPerGranule>;  // allocated on demand
    std::vector<std::unique_ptr<Granule>> granules_ =
        std::vector<std::unique_ptr<Granule>>(kGranules);
};

}  // namespace numascape
