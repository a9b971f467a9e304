// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "page_ranges.h"
#include "page_shares.h"
#include "window_pages.h"

namespace numascape {

// The parts of memory that the program named (include/numascape/region.h). A page that is
// completely inside several regions belongs to the region that began last. When this region ends,
// the page belongs to the one that began before it. The pages at the ends of a region, and those
// with regions smaller than a page, are divided by bytes.
class RegionPages {
  public:
    void add_small(uint32_t page, uint32_t owner, uint64_t bytes, const PageParts& parts) {
        shares_.add_small(page, owner, bytes, parts);
    }
    // `bytes` is at most the window.
    void begin(uint32_t owner, uint64_t address, uint64_t bytes, uint64_t time);
    void end(uint32_t owner, uint64_t time);
    // The last region that began at the address and has not ended.
    std::optional<uint32_t> last_at(uint64_t address) const;
    // The regions that exist now and lie entirely in this memory.
    std::vector<uint32_t> within(uint64_t start, uint64_t bytes) const;
    // The pages are gone.
    void erase(WindowPages pages) { top_.erase(pages.first, pages.end); }

    bool lives(uint32_t owner) const { return regions_.at(owner).lives; }

    // The pages that lie entirely in the region, whether it owns them or not.
    WindowPages whole_pages(uint32_t owner) const { return regions_.at(owner).whole; }
    // The region that the page belongs to; none for a divided page.
    std::optional<uint32_t> at(uint32_t page) const { return top_.find(page); }
    bool divides(uint32_t page) const { return shares_.contains(page); }
    std::vector<PageShares::Share> parts(uint32_t page, uint64_t since, uint64_t until) const {
        return shares_.parts(page, since, until);
    }
    std::vector<uint32_t> sharers(uint32_t page) const { return shares_.owners(page); }

  private:
    struct Covered {
        uint32_t first;
        uint32_t end;
        uint32_t owner;
    };
    struct Region {
        uint64_t address;
        uint64_t bytes;
        WindowPages whole;
        bool lives;
        std::vector<Covered> covered;  // what its pages belonged to before
    };
    void share_ends(uint32_t owner, const Region& region, uint64_t time);
    void uncover(std::vector<Covered> ended);

    std::unordered_map<uint32_t, Region> regions_;        // by owner
    std::map<uint64_t, std::vector<uint32_t>> starting_;  // those that live, by address
    PageRanges top_;
    PageShares shares_;
};

}  // namespace numascape
