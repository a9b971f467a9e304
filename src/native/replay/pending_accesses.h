// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "owner_counts.h"
#include "page_owners.h"
#include "replay.h"
#include "seen_in_modules.h"
#include "seen_lines.h"
#include "site_counts.h"
#include "thread_lives.h"
#include "window_pages.h"

namespace numascape {

// Sampled accesses, samples of blocks, and transfers of lines by page, until the owner of the page
// is known. They have the same owner as the counts of their page. It is known when the counts leave
// the tables.
class PendingAccesses {
  public:
    PendingAccesses(PageOwners& owners, OwnerCounts& counts, SiteCounts& sites, Replay& out)
        : owners_(owners), counts_(counts), sites_(sites), out_(out) {}

    // The record must stay in memory.
    void add_transfers(const TransfersRecord& transfers, uint32_t page) {
        transfers_[page].push_back(&transfers);
    }

    // Whether the process has several threads. If not, used cache lines are not collected.
    void has_several_threads(bool several) { follows_lines_ = several; }
    // Whether samples have callers. If not, call paths are not collected.
    void has_callers(bool has) { follows_callers_ = has; }
    ThreadLives& lives() { return lives_; }
    // The record must stay in memory.
    void add_sample(const SampleRecord& sample, uint32_t page) {
        samples_[page].push_back(&sample);
    }
    // The record must stay in memory.
    void add_kernel_access(const KernelAccessRecord& access) {
        for (uint32_t page = 0; page < access.pages; ++page) {
            kernel_accesses_[access.header.id + page].push_back(&access);
        }
    }

    struct SampledAccess {
        uint32_t thread;
        uint32_t phase;
        uint64_t pc;  // 0: of the kernel
        uint64_t time;
        bool writes;
        SeenParts seen;  // none if only the page is known
        uint32_t callers = kUnknownCallers;
    };
    void add(const SampledAccess& access, uint32_t page);

    // The counts of the pages leave the tables at `time`.
    void attribute(WindowPages pages, uint64_t time);
    // Writes what samples saw, when all accesses have an owner.
    void finish();

  private:
    struct Sample {
        uint32_t site;
        uint32_t phase;
        double weight;
        uint64_t time;
        bool whole;
        PageParts parts = PageParts::every();
    };
    void attribute(const Sample& sample, uint32_t page, uint64_t time);
    void attribute(const SampleRecord& sample, uint32_t page, uint64_t time);
    void attribute(const TransfersRecord& transfers, uint32_t page, uint64_t time);
    void attribute(const KernelAccessRecord& access, uint32_t page, uint64_t time);
    // The owners of these parts of a page that is divided, at `since`.
    std::vector<PageShares::Share> owners_then(uint32_t page, const PageParts& parts,
                                               uint64_t since, uint64_t until) const;
    // The owner of these parts of the page, or of most of them, from `since` to `until`.
    std::optional<uint32_t> owner_of(uint32_t page, const PageParts& parts, uint64_t since,
                                     uint64_t until);
    void attribute(const SampledAccess& access, uint32_t page, uint64_t time);
    void add_seen_line(const SampledAccess& access, uint32_t page, uint32_t owner);
    void add_path(const SampledAccess& access, uint32_t page, uint32_t owner);
    void attribute_records(WindowPages pages, uint64_t time);

    // The group of the owners of a page of small blocks.
    uint32_t group_of(uint32_t page);

    PageOwners& owners_;
    OwnerCounts& counts_;
    SiteCounts& sites_;
    Replay& out_;
    SeenLines seen_lines_;
    SeenInModules seen_in_modules_;
    std::unordered_map<uint32_t, uint32_t> groups_;  // by page
    // By page that only small blocks share.
    std::unordered_map<uint32_t, std::vector<PageShares::Share>> small_shares_;
    bool follows_lines_ = true;
    bool follows_callers_ = false;
    ThreadLives lives_;
    std::map<uint32_t, std::vector<const SampleRecord*>> samples_;
    std::map<uint32_t, std::vector<SampledAccess>> accesses_;
    std::map<uint32_t, std::vector<const TransfersRecord*>> transfers_;
    std::map<uint32_t, std::vector<const KernelAccessRecord*>> kernel_accesses_;
};

}  // namespace numascape
