// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "page_parts.h"
#include "pages.h"

namespace numascape {

// Pages that several heap blocks share. There is one count per page and thread. It is divided in
// proportion to the bytes of each block on the page, on average over the time of the counting.
//
// The times of blocks of at least a page are known. For smaller blocks, only the sum of all that a
// call stack ever allocated on the page is known. If addresses are reused, this sum may be many
// times the page: together, small blocks occupied at most what the large ones left.
class PageShares {
  public:
    static constexpr uint64_t kAlive = ~uint64_t{0};
    struct Share {
        uint32_t owner;
        double weight;
        PageParts parts;  // of the page, where it was
        // When it was there. This is known only for blocks of at least a page.
        uint64_t begin = 0;
        uint64_t end = kAlive;

        bool has_times() const { return begin != 0; }
    };

    bool contains(uint32_t page) const { return pages_.contains(page); }

    // Whether several small blocks share the page, and no block of at least a page ever did.
    bool has_only_small(uint32_t page) const;

    void add_small(uint32_t page, uint32_t owner, uint64_t bytes,
                   const PageParts& parts = PageParts::every());
    // `bytes` of the block lie on the page, at these parts; `begin` in ticks.
    void add_block(uint32_t page, uint32_t owner, uint64_t bytes, uint64_t begin,
                   const PageParts& parts = PageParts::every());
    void end_block(uint32_t page, uint32_t owner, uint64_t end);

    // The owners that share the counts of [since, until]. Weights are positive; owners may repeat.
    // If no owner is known for that time, all owners that ever had a part of the page share it.
    std::vector<Share> during(uint32_t page, uint64_t since, uint64_t until) const;
    // The same, but only owners that are known for that time. The weight of the whole page is
    // page_weight.
    std::vector<Share> parts(uint32_t page, uint64_t since, uint64_t until) const;
    static double page_weight(uint64_t since, uint64_t until) {
        return ticks(since, until) * static_cast<double>(kPageBytes);
    }
    static double ticks(uint64_t since, uint64_t until) {
        return until > since ? static_cast<double>(until - since) : 1.0;
    }
    // The shares that may own the parts of the page that were used at `time`, with their weights
    // at that time. `shares` are for an interval of `length` ticks.
    static std::vector<Share> narrow(const std::vector<Share>& shares, const PageParts& used,
                                     uint64_t time, double length);
    // All owners that ever had a part of the page, each once.
    std::vector<uint32_t> owners(uint32_t page) const;

  private:
    struct Block {
        uint32_t owner;
        uint32_t bytes;
        PageParts parts;
        uint64_t begin;
        uint64_t end;
    };
    struct Small {
        uint32_t owner;
        uint64_t bytes;
        PageParts parts;
    };
    struct Page {
        std::vector<Block> blocks;
        std::vector<Small> small;
    };
    std::unordered_map<uint32_t, Page> pages_;
};

}  // namespace numascape
