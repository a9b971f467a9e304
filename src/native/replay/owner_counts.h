// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "page_owners.h"
#include "replay.h"
#include "replayed_threads.h"
#include "seen_on_pages.h"

namespace numascape {

// Gives the counts of pages to their owners.
class OwnerCounts {
  public:
    OwnerCounts(const PageOwners& owners, const ReplayedThreads& threads, Replay& out)
        : owners_(owners), threads_(threads), out_(out) {}

    // A sample of the accesses to the page, which several blocks may share.
    void add_sample(uint32_t page, uint32_t thread, const SampleRecord& sample) {
        const bool by_time = owners_.has_ends_of_blocks(page);
        if (sample.seen.lines != 0 && (by_time || owners_.has_only_small(page))) {
            seen_.add(page, thread, sample, by_time);
        }
    }

    // The thread and the phase whose accesses are counted.
    struct Counter {
        uint32_t thread;
        uint32_t phase;
        bool of_lines;  // the counts are of lines: see CountsFlags
    };
    // `time`: when the counts left the tables.
    void count(uint32_t page, Counter by, CountPair counts, uint64_t time);

  private:
    struct Divided {
        uint64_t until;
        std::vector<PageShares::Share> shares;
    };
    std::vector<PageShares::Share> shares(uint32_t page, Counter by, uint64_t until);
    void add(uint32_t owner, uint32_t page, Counter by, CountPair counts);
    void divide(uint32_t page, Counter by, CountPair counts,
                const std::vector<PageShares::Share>& shares);

    const PageOwners& owners_;
    const ReplayedThreads& threads_;
    Replay& out_;
    SeenOnPages seen_;
    // By page and thread: how counts of its tables were divided last, without regard to phases.
    // All phases of a thread end at the same time.
    std::unordered_map<uint64_t, Divided> divided_;
};

}  // namespace numascape
