// SPDX-License-Identifier: Apache-2.0
#include "replayed_threads.h"

#include <algorithm>

namespace numascape {

ThreadRow& ReplayedThreads::row(uint32_t thread) {
    const auto [at, fresh] = index_.try_emplace(thread, rows_.size());
    if (fresh) {
        rows_.push_back({thread, 0, 0, 0, "", {}, kUnknownCpu});
    }
    return rows_[at->second];
}

uint64_t ReplayedThreads::start_of(uint32_t thread) const {
    const auto at = index_.find(thread);
    return at == index_.end() ? 0 : rows_[at->second].start;
}

void ReplayedThreads::add_cpu(ThreadRow& row, uint32_t cpu) {
    if (cpu != kUnknownCpu && std::find(row.cpus.begin(), row.cpus.end(), cpu) == row.cpus.end()) {
        row.cpus.push_back(cpu);
    }
}

void ReplayedThreads::add_start(const ThreadStartRecord& start, uint32_t thread) {
    starts_[start.os_tid].push_back({start.time, thread});
}

void ReplayedThreads::sort_starts() {
    for (auto& [os_tid, starts] : starts_) {
        std::sort(starts.begin(), starts.end());
    }
}

std::optional<uint32_t> ReplayedThreads::at(uint32_t os_tid, uint64_t time) const {
    const auto at = starts_.find(os_tid);
    if (at == starts_.end()) {
        return std::nullopt;
    }
    const auto& starts = at->second;
    const auto later = std::upper_bound(starts.begin(), starts.end(), std::pair{time, ~0U});
    return later == starts.begin() ? starts.front().second : std::prev(later)->second;
}

}  // namespace numascape
