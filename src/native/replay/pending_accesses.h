// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "owner_counts.h"
#include "page_owners.h"
#include "site_counts.h"
#include "window_pages.h"

namespace numascape {

// Faults, samples and transfers of lines by page, until the owner of the page is known. They have
// the same owner as the counts of their page. It is known when the counts leave the tables.
class PendingAccesses {
  public:
    PendingAccesses(PageOwners& owners, OwnerCounts& counts, SiteCounts& sites,
                    ShareColumns& shares, TransferColumns& transfers)
        : owners_(owners),
          counts_(counts),
          sites_(sites),
          shares_(shares),
          transfers_out_(transfers) {}

    // The record must stay in memory.
    void add_sample(const SampleRecord& sample, uint32_t page) {
        samples_[page].push_back(&sample);
    }

    struct Fault {
        uint32_t thread;
        uint32_t phase;
        uint64_t pc;  // of a hinting fault
        uint64_t time;
        bool hinting;
    };
    void add(const Fault& fault, uint32_t page);
    // The record must stay in memory.
    void add_transfers(const TransfersRecord& transfers, uint32_t page) {
        transfers_[page].push_back(&transfers);
    }

    // The counts of the pages leave the tables at `time`.
    void attribute(WindowPages pages, uint64_t time);
    // The same, while their first touches wait for the next owner: so do the faults that are first
    // touches.
    void attribute_accesses(WindowPages pages, uint64_t time);

  private:
    struct Sample {
        uint32_t site;
        uint32_t phase;
        double weight;
        uint64_t time;
        bool whole;
    };
    void attribute(const Sample& sample, uint32_t page, uint64_t time);
    void attribute(const TransfersRecord& transfers, uint32_t page, uint64_t time);
    void attribute(const Fault& fault, uint32_t page, uint64_t time);
    void attribute_samples(WindowPages pages, uint64_t time);

    // The group of the owners of a page of small blocks.
    uint32_t group_of(uint32_t page);

    PageOwners& owners_;
    OwnerCounts& counts_;
    SiteCounts& sites_;
    ShareColumns& shares_;
    std::unordered_map<uint32_t, uint32_t> groups_;  // by page
    TransferColumns& transfers_out_;
    std::map<uint32_t, std::vector<const SampleRecord*>> samples_;
    std::map<uint32_t, std::vector<Fault>> faults_;
    std::map<uint32_t, std::vector<const TransfersRecord*>> transfers_;
};

}  // namespace numascape
