// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "owner_counts.h"
#include "page_owners.h"
#include "site_counts.h"
#include "window_pages.h"

namespace numascape {

// Faults and samples by page, until the owner of the page is known. They have the same owner as the
// counts of their page. It is known when the counts leave the tables.
class PendingAccesses {
  public:
    PendingAccesses(const PageOwners& owners, OwnerCounts& counts, SiteCounts& sites)
        : owners_(owners), counts_(counts), sites_(sites) {}

    void add(const SampleRecord& sample, uint32_t page, uint8_t flags);

    struct Fault {
        uint32_t thread;
        uint64_t pc;  // of a hinting fault
        uint64_t time;
        bool hinting;
    };
    void add(const Fault& fault, uint32_t page);

    // The counts of the pages leave the tables at `time`.
    void attribute(WindowPages pages, uint64_t time);

  private:
    struct Sample {
        uint32_t site;
        uint32_t phase;
        double weight;
        uint64_t time;
        bool whole;
    };
    void attribute(const Sample& sample, uint32_t page, uint64_t time);

    const PageOwners& owners_;
    OwnerCounts& counts_;
    SiteCounts& sites_;
    std::map<uint32_t, std::vector<Sample>> samples_;
    std::map<uint32_t, std::vector<Fault>> faults_;
};

}  // namespace numascape
