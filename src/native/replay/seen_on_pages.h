// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "count_records.h"
#include "page_shares.h"

namespace numascape {

// Which parts of shared pages threads used, as samples saw them: this shows how to divide the
// counts of such a page among its owners.
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
    struct PhaseOnPage {
        uint32_t page;
        uint32_t thread;
        uint32_t phase;
    };
    // Whether samples added `by_time` show how the thread used the page in this phase. They do not
    // if it used the page in very many phases.
    bool tells(const PhaseOnPage& use) const;
    // The shares in the counts of this phase. `as_seen` are those of all phases: if there are few
    // samples in the phase, these count more.
    std::vector<PageShares::Share> in_phase(const PhaseOnPage& use,
                                            std::vector<PageShares::Share> shares,
                                            const std::vector<PageShares::Share>& as_seen,
                                            uint64_t since, uint64_t until) const;

  private:
    struct Used {
        PageParts parts;
        uint64_t time;  // 0: any
        double times;
        uint32_t samples;
    };
    struct Seen {
        std::vector<Used> all;
        std::unordered_map<uint32_t, std::vector<uint32_t>> of_phase;  // indices, of `by_time`
    };
    static constexpr size_t kMaxPhases = 64;

    template <typename Each>
    static std::vector<PageShares::Share> weighed(const Each& each_used,
                                                  std::vector<PageShares::Share> shares,
                                                  const std::vector<PageShares::Share>& otherwise,
                                                  uint64_t since, uint64_t until);
    static uint64_t key(uint32_t page, uint32_t thread) { return uint64_t{page} << 32 | thread; }

    std::unordered_map<uint64_t, Seen> seen_;
};

}  // namespace numascape
