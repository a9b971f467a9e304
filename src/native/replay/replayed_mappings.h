// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "first_touches.h"
#include "page_owners.h"
#include "page_ranges.h"
#include "pending_accesses.h"
#include "window_pages.h"

namespace numascape {

// Applies what the log says about mappings: to the owners of pages, to first touches, and to
// accesses that wait for their owner.
class ReplayedMappings {
  public:
    ReplayedMappings(PageOwners& owners, FirstTouches& touches, PendingAccesses& pending)
        : owners_(owners), touches_(touches), pending_(pending) {}

    void map(const RecordView& record);
    void unmap(const RecordView& record);
    void forget(const RecordView& record);
    void advise(const RecordView& record);
    void move(const RecordView& record);

    // From now on, keeps when pages were unmapped.
    void keep_ends() { keeps_ends_ = true; }
    // Whether the page was unmapped after this time.
    bool ended_after(uint32_t page, uint64_t time) const;

  private:
    void end(WindowPages pages, uint64_t time);
    void end_regions(uint64_t start, uint64_t bytes, uint64_t time);
    void leave(const MoveRecord& move, uint8_t flags);
    void arrive(const MoveRecord& move);

    PageOwners& owners_;
    FirstTouches& touches_;
    PendingAccesses& pending_;
    // Pages that have left and not arrived yet, by the time when the call began and the old
    // address.
    struct Moving {
        std::optional<PageOwners::Mapping> mapping;
        std::vector<std::pair<uint32_t, Touch>> touches;  // by the page's number
    };
    std::map<std::pair<uint64_t, uint64_t>, Moving> moving_;
    bool keeps_ends_ = false;
    PageRanges ended_;  // indices of the times when pages were unmapped last
    std::vector<uint64_t> end_times_;
};

}  // namespace numascape
