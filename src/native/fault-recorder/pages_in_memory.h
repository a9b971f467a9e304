// SPDX-License-Identifier: Apache-2.0
//
// Finds out which pages of a process are in memory. Another process reads this from
// /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst). It does not need the frame numbers,
// for which it would need privileges.
#pragma once

#include <bitset>
#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fault_log.h"

namespace numascape {

// Reports differences from the state that faults alone suggest, as entries of a fault log.
class PagesInMemory {
  public:
    explicit PagesInMemory(uint32_t pid)
        : PagesInMemory(pid, "/proc/" + std::to_string(pid) + "/pagemap") {}
    PagesInMemory(uint32_t pid, std::string map) : pid_(pid), map_(std::move(map)) {}
    PagesInMemory(const PagesInMemory&) = delete;
    ~PagesInMemory();

    void faulted(uint32_t thread, uint64_t address, uint64_t time_ns);
    // Looks at the blocks with faults since the last time, and at the next `pages` of the whole
    // memory. All faults before `began_ns` are known. `counted`: how many hinting faults the kernel
    // has counted. False when the process has ended.
    bool look(std::vector<FaultEntry>& out, uint64_t began_ns, uint64_t counted, uint64_t pages);

  private:
    static constexpr uint64_t kBlockPages = 512;  // in a huge page
    struct Block {
        std::bitset<kBlockPages> in_memory, to_copy;
        std::bitset<kBlockPages> unfinished;  // with a fault that the kernel may not have finished
        uint64_t awaited_until_ns = 0;
    };
    struct LastFault {
        uint64_t page, time_ns;
    };
    struct Range {
        uint64_t first, end;  // pages
    };

    bool open();
    void look_at(uint64_t first, uint64_t end, std::vector<FaultEntry>& out);
    void look_at_block(uint64_t number, const uint64_t* map, uint64_t first, uint64_t end);
    void next_round();
    void note(FaultKind kind, uint64_t page);
    void write_noted(std::vector<FaultEntry>& out);

    uint32_t pid_;
    std::string map_;
    int file_ = -1;
    bool ended_ = false;
    uint64_t began_ns_ = 0;  // when the current look began
    std::unordered_map<uint64_t, Block> blocks_;
    std::unordered_set<uint64_t> with_faults_;
    std::unordered_map<uint32_t, LastFault> last_faults_;  // of each thread
    std::vector<Range> left_;        // still to look at in this round, from the last one on
    std::vector<FaultEntry> noted_;  // without their times
};

// All processes that have faults.
class WatchedProcesses {
  public:
    // Called before the first faults of a process that already runs.
    void look_at_all_of(uint32_t pid);
    // Appends to the latest faults what was seen after them. All faults before `began_ns` are
    // known.
    void follow(std::vector<FaultEntry>& faults, uint64_t began_ns);

  private:
    void look(uint64_t began_ns);

    std::unordered_map<uint32_t, PagesInMemory> processes_;
    std::vector<FaultEntry> found_;
    std::chrono::steady_clock::time_point next_look_;
};

uint64_t realtime_ns();

// Whether the NUMA balancing of this kernel is on, and it has several nodes with memory.
bool kernel_balances();

}  // namespace numascape
