// SPDX-License-Identifier: Apache-2.0
//
// Distinguishes first touches from hinting faults.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fault_log.h"

namespace numascape {

// Follows which pages of one process are in memory. A fault is a hinting fault only if all of these
// hold: its page was seen in memory after the last fault of the page; no other reason for a fault
// is known than the kernel's balancing; the kernel counted hinting faults around that time.
// Doubtful faults do not count: there are then fewer samples, but no wrong ones.
class FaultMeanings {
  public:
    // `entries` of one process and program, in order of time.
    static FaultLog apply(const std::vector<FaultEntry>& entries);

  private:
    enum class State : uint8_t { kUnknown, kFaulted, kInMemory, kToCopy };
    static constexpr uint64_t kBlockPages = 512;  // of a huge page
    struct Block {
        std::array<State, kBlockPages> pages{};
        uint64_t looked_ns = 0;
        bool faulted = false;  // since a page of it was not in memory any more
    };
    struct Look {
        uint64_t time_ns, counted;
    };

    struct Pending {
        FaultEntry entry;
        size_t number;  // in the log
        bool first_of_block;
    };

    Fault fault(const FaultEntry& entry, size_t number);
    void look(const FaultEntry& entry, FaultLog& log);
    void find_huge_pages(FaultLog& log);
    void set(const FaultEntry& entry, State state);
    void forked();
    bool kernel_counted_around(uint64_t time_ns) const;
    State& state_of(uint64_t page) { return blocks_[page / kBlockPages].pages[page % kBlockPages]; }

    std::unordered_map<uint64_t, Block> blocks_;
    std::vector<Pending> not_looked_at_;   // faults since the last look
    std::unordered_set<uint64_t> filled_;  // blocks found in memory since then
    std::vector<Look> looks_;              // all of the recording
};

}  // namespace numascape
