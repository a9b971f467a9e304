// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace numascape {

// Sums of rows by key: each key occurs once, in order. New rows are kept unsorted in many short
// lists. `key.list()` is the number of the list; a larger key never has a smaller number. A list is
// sorted and summed whenever it has grown by half. Short lists are sorted in the processor's cache,
// and need little memory beside their own.
template <typename Key, typename Sum>
class SummedRows {
  public:
    void add(const Key& key, const Sum& sum) {
        List& list = lists_[key.list()];
        list.rows.emplace_back(key, sum);
        if (list.rows.size() >= list.limit) {
            list.compact();
            list.limit = std::max(kMinLimit, list.rows.size() + list.rows.size() / 2);
            list.rows.reserve(list.limit);
        }
    }

    // The number of keys.
    size_t size() {
        size_t sum = 0;
        for (auto& [number, list] : lists_) {
            list.compact();
            sum += list.rows.size();
        }
        return sum;
    }

    // `visit(key, sum)` for each key, in order; no row is left.
    template <typename Visit>
    void take(Visit visit) {
        std::vector<uint32_t> numbers;
        for (const auto& [number, list] : lists_) {
            numbers.push_back(number);
        }
        std::sort(numbers.begin(), numbers.end());
        for (const uint32_t number : numbers) {
            List& list = lists_[number];
            list.compact();
            for (const auto& [key, sum] : list.rows) {
                visit(key, sum);
            }
            list = {};
        }
        lists_.clear();
    }

  private:
    static constexpr size_t kMinLimit = 64;

    struct List {
        std::vector<std::pair<Key, Sum>> rows;
        size_t compacted = 0;  // the first rows, which are in order
        size_t limit = kMinLimit;

        void compact();
    };

    std::unordered_map<uint32_t, List> lists_;
};

template <typename Key, typename Sum>
void SummedRows<Key, Sum>::List::compact() {
    if (compacted == rows.size()) {
        return;
    }
    const auto begin = rows.begin() + static_cast<ptrdiff_t>(compacted);
    const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
    // Stable, so that floating-point numbers are always summed in the same order.
    std::stable_sort(begin, rows.end(), before);
    std::inplace_merge(rows.begin(), begin, rows.end(), before);
    size_t kept = 0;
    for (const auto& row : rows) {
        if (kept != 0 && rows[kept - 1].first == row.first) {
            rows[kept - 1].second += row.second;
        } else {
            rows[kept++] = row;
        }
    }
    rows.erase(rows.begin() + static_cast<ptrdiff_t>(kept), rows.end());
    compacted = kept;
}

}  // namespace numascape
