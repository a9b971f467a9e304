// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace numascape {

// Pages that several heap blocks share. What is counted there is one number per page and thread;
// it is divided by the bytes that each block occupied, on average over the time of the counting.
//
// The blocks of at least a page are known with their times. The smaller ones are known only by the
// sum of all that a call stack ever allocated on the page, which may be many times the page when
// addresses are used again: together they occupied at most what the large ones left.
class PageShares {
  public:
    struct Share {
        uint32_t owner;
        double weight;
    };

    bool contains(uint32_t page) const { return pages_.contains(page); }

    void add_small(uint32_t page, uint32_t owner, uint64_t bytes);
    // `bytes` of the block lie on the page; `begin` in ticks.
    void add_block(uint32_t page, uint32_t owner, uint64_t bytes, uint64_t begin);
    void end_block(uint32_t page, uint32_t owner, uint64_t end);

    // Who shares counts made in [since, until]; weights are positive, owners may repeat. Where
    // nobody is known to have lived then, all who ever had a part of the page share it.
    std::vector<Share> during(uint32_t page, uint64_t since, uint64_t until) const;
    // All who ever had a part of the page, each once.
    std::vector<uint32_t> owners(uint32_t page) const;

  private:
    static constexpr uint64_t kAlive = ~uint64_t{0};
    struct Block {
        uint32_t owner;
        uint32_t bytes;
        uint64_t begin;
        uint64_t end;
    };
    struct Small {
        uint32_t owner;
        uint64_t bytes;
    };
    struct Page {
        std::vector<Block> blocks;
        std::vector<Small> small;
    };
    std::unordered_map<uint32_t, Page> pages_;
};

}  // namespace numascape
