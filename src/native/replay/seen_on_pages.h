// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "count_records.h"
#include "page_shares.h"

namespace numascape {

// Which parts of shared pages threads used, as samples saw them: this tells how the counts of
// such a page are divided among its owners.
class SeenOnPages {
  public:
    // Samples are added in the order of their times. `by_time`: the page has other owners at other
    // times.
    void add(uint32_t page, uint32_t thread, const SampleRecord& sample, bool by_time = false);
    // The shares in the counts of the thread in [since, until]. Without samples, they are in
    // proportion to bytes.
    std::vector<PageShares::Share> as_seen(uint32_t page, uint32_t thread,
                                           std::vector<PageShares::Share> shares,
                                           uint64_t since = 0,
                                           uint64_t until = PageShares::kAlive) const;

  private:
    struct Used {
        PageParts parts;
        uint64_t time;  // 0: any
        double times;
        uint32_t samples;
    };
    static uint64_t key(uint32_t page, uint32_t thread) { return uint64_t{page} << 32 | thread; }

    std::unordered_map<uint64_t, std::vector<Used>> seen_;
};

}  // namespace numascape
