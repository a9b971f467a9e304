// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace numascape {

// Rows with a key, and their sums: each key is there once, in order. Rows wait in a list, which is
// sorted and summed whenever it has grown by half. This takes a third of the time of a map, and
// half of its memory.
template <typename Key, typename Sum>
class SummedRows {
  public:
    void add(const Key& key, const Sum& sum) {
        rows_.emplace_back(key, sum);
        if (rows_.size() >= limit_) {
            compact();
            limit_ = std::max(kMinLimit, rows_.size() + rows_.size() / 2);
        }
    }

    // Sums the rows; `visit(key, sum)` for each key, in order.
    template <typename Visit>
    void each(Visit visit) {
        compact();
        for (const auto& [key, sum] : rows_) {
            visit(key, sum);
        }
    }

    size_t size() {
        compact();
        return rows_.size();
    }

    void clear() { rows_ = {}; }

  private:
    static constexpr size_t kMinLimit = size_t{1} << 17;

    void compact() {
        const auto begin = rows_.begin() + static_cast<ptrdiff_t>(compacted_);
        const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
        std::stable_sort(begin, rows_.end(), before);
        std::inplace_merge(rows_.begin(), begin, rows_.end(), before);
        size_t kept = 0;
        for (const auto& row : rows_) {
            if (kept != 0 && rows_[kept - 1].first == row.first) {
                rows_[kept - 1].second += row.second;
            } else {
                rows_[kept++] = row;
            }
        }
        rows_.erase(rows_.begin() + static_cast<ptrdiff_t>(kept), rows_.end());
        compacted_ = kept;
    }

    std::vector<std::pair<Key, Sum>> rows_;
    size_t compacted_ = 0;  // the first rows, which are in order
    size_t limit_ = kMinLimit;
};

}  // namespace numascape
