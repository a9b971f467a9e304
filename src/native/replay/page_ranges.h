// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace numascape {

// Disjoint ranges of window pages, each with a value. A later range replaces what it overlaps.
class PageRanges {
  public:
    struct Range {
        uint32_t end;  // exclusive
        uint32_t value;
    };

    void assign(uint32_t first, uint32_t end, uint32_t value) {
        if (first >= end) {
            return;
        }
        erase(first, end);
        ranges_[first] = {end, value};
    }

    void erase(uint32_t first, uint32_t end) {
        auto at = ranges_.lower_bound(first);
        if (at != ranges_.begin()) {
            auto before = std::prev(at);
            const Range range = before->second;
            if (range.end > first) {
                before->second.end = first;
                if (range.end > end) {
                    ranges_[end] = range;
                }
            }
        }
        at = ranges_.lower_bound(first);
        while (at != ranges_.end() && at->first < end) {
            const Range range = at->second;
            at = ranges_.erase(at);
            if (range.end > end) {
                ranges_[end] = range;
                break;
            }
        }
    }

    // Erases what has this value within [first, end).
    void erase_value(uint32_t first, uint32_t end, uint32_t value) {
        auto at = ranges_.upper_bound(first);
        if (at != ranges_.begin()) {
            --at;
        }
        while (at != ranges_.end() && at->first < end) {
            at = at->second.value == value && at->second.end > first ? ranges_.erase(at)
                                                                     : std::next(at);
        }
    }

    std::optional<uint32_t> find(uint32_t page) const {
        auto at = ranges_.upper_bound(page);
        if (at == ranges_.begin()) {
            return std::nullopt;
        }
        --at;
        return page < at->second.end ? std::optional(at->second.value) : std::nullopt;
    }

    const std::map<uint32_t, Range>& all() const { return ranges_; }

  private:
    std::map<uint32_t, Range> ranges_;
};

}  // namespace numascape
