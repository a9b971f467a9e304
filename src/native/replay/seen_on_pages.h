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
    void add(uint32_t page, uint32_t thread, const SampleRecord& sample);
    // The shares in the counts of the thread. Without samples, they are in proportion to bytes.
    std::vector<PageShares::Share> as_seen(uint32_t page, uint32_t thread,
                                           std::vector<PageShares::Share> shares) const;

  private:
    struct Used {
        PageParts parts;
        double times;
    };
    struct Seen {
        std::vector<Used> used;
        double samples = 0;
    };
    static uint64_t key(uint32_t page, uint32_t thread) { return uint64_t{page} << 32 | thread; }

    std::unordered_map<uint64_t, Seen> seen_;
};

}  // namespace numascape
