// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay.h"

namespace numascape {

// The threads of a replay, by number and by the number that the kernel gave them.
class ReplayedThreads {
  public:
    explicit ReplayedThreads(std::vector<ThreadRow>& rows) : rows_(rows) {}

    // The row of the thread; a new one if it has none.
    ThreadRow& row(uint32_t thread);
    // When the thread began; 0 if that was not recorded.
    uint64_t start_of(uint32_t thread) const;
    static void add_cpu(ThreadRow& row, uint32_t cpu);

    // All starts are added before the first question.
    void add_start(const ThreadStartRecord& start, uint32_t thread);
    void sort_starts();
    // The thread with this os_tid at a time. Numbers are reused, so it is the last thread that
    // began before. If there is none, it is the next one, whose start was recorded only after its
    // first faults.
    std::optional<uint32_t> at(uint32_t os_tid, uint64_t time) const;

  private:
    std::vector<ThreadRow>& rows_;
    std::unordered_map<uint32_t, size_t> index_;
    // os_tid -> when its threads began, and their numbers; ascending
    std::unordered_map<uint32_t, std::vector<std::pair<uint64_t, uint32_t>>> starts_;
};

}  // namespace numascape
