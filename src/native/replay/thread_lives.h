// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace numascape {

// How many threads of a process lived at a time. All starts and ends are added before the first
// question.
class ThreadLives {
  public:
    void start(uint64_t time) { changes_.emplace_back(time, 1); }
    void end(uint64_t time) { changes_.emplace_back(time, -1); }
    void sort() {
        std::sort(changes_.begin(), changes_.end());
        int living = 0;
        for (auto& [time, change] : changes_) {
            change = living += change;
        }
    }

    // Whether no more than one thread lived.
    bool one_at(uint64_t time) const {
        const auto later =
            std::upper_bound(changes_.begin(), changes_.end(), std::pair{time, INT32_MAX});
        return later == changes_.begin() || std::prev(later)->second <= 1;
    }

  private:
    // Times, and the changes at them; after sort(), how many threads live from then on.
    std::vector<std::pair<uint64_t, int32_t>> changes_;
};

}  // namespace numascape
