// SPDX-License-Identifier: Apache-2.0
#include "region_pages.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace numascape {
namespace {

WindowPages pages_wholly_in(uint64_t address, uint64_t bytes) {
    const uint64_t before = (kPageBytes - address % kPageBytes) % kPageBytes;
    if (bytes < before + kPageBytes) {
        return {};
    }
    return WindowPages::of(address + before, (bytes - before) / kPageBytes * kPageBytes);
}

}  // namespace

void RegionPages::begin(uint32_t owner, uint64_t address, uint64_t bytes, uint64_t time) {
    Region region{address, bytes, pages_wholly_in(address, bytes), true, {}};
    const auto [first, end] = region.whole;
    auto at = top_.all().upper_bound(first);
    at = at == top_.all().begin() ? at : std::prev(at);
    for (; at != top_.all().end() && at->first < end; ++at) {
        const Covered covered{std::max(at->first, first), std::min(at->second.end, end),
                              at->second.value};
        if (covered.first < covered.end) {
            region.covered.push_back(covered);
        }
    }
    top_.assign(first, end, owner);
    share_ends(owner, region, time);
    starting_[address].push_back(owner);
    regions_[owner] = std::move(region);
}

void RegionPages::share_ends(uint32_t owner, const Region& region, uint64_t time) {
    const auto all = WindowPages::of(region.address, region.bytes);
    const uint64_t end = region.address + region.bytes;
    const uint64_t in_first = kPageBytes - region.address % kPageBytes;
    if (in_first < kPageBytes) {
        const uint64_t offset = region.address % kPageBytes;
        shares_.add_block(all.first, owner, std::min(in_first, region.bytes), time,
                          PageParts::of(offset, region.bytes));
    }
    const bool is_in_first = in_first < kPageBytes && region.bytes <= in_first;
    if (end % kPageBytes != 0 && !is_in_first) {
        shares_.add_block(all.end - 1, owner, end % kPageBytes, time,
                          PageParts::of(0, end % kPageBytes));
    }
}

void RegionPages::end(uint32_t owner, uint64_t time) {
    Region& region = regions_.at(owner);
    region.lives = false;
    auto starting = starting_.find(region.address);
    std::erase(starting->second, owner);
    if (starting->second.empty()) {
        starting_.erase(starting);
    }
    const auto all = WindowPages::of(region.address, region.bytes);
    shares_.end_block(all.first, owner, time);
    shares_.end_block(all.end - 1, owner, time);
    std::vector<Covered> own;
    auto at = top_.all().lower_bound(region.whole.first);
    for (; at != top_.all().end() && at->first < region.whole.end; ++at) {
        if (at->second.value == owner) {
            own.push_back({at->first, at->second.end, owner});
        }
    }
    for (const Covered& pages : own) {
        top_.erase(pages.first, pages.end);
    }
    uncover(std::move(own));
}

// Gives the pages of ended regions back to the region that each of these covered. If that has
// ended, too, they go to the one that it covered, and so on.
void RegionPages::uncover(std::vector<Covered> ended) {
    while (!ended.empty()) {
        const Covered pages = ended.back();
        ended.pop_back();
        for (const Covered& covered : regions_.at(pages.owner).covered) {
            const uint32_t first = std::max(pages.first, covered.first);
            const uint32_t end = std::min(pages.end, covered.end);
            if (first >= end) {
                continue;
            }
            if (regions_.at(covered.owner).lives) {
                top_.assign(first, end, covered.owner);
            } else {
                ended.push_back({first, end, covered.owner});
            }
        }
    }
}

std::optional<uint32_t> RegionPages::last_at(uint64_t address) const {
    const auto at = starting_.find(address);
    return at != starting_.end() ? std::optional(at->second.back()) : std::nullopt;
}

std::vector<uint32_t> RegionPages::within(uint64_t start, uint64_t bytes) const {
    std::vector<uint32_t> found;
    for (auto at = starting_.lower_bound(start); at != starting_.end() && at->first - start < bytes;
         ++at) {
        for (const uint32_t owner : at->second) {
            if (at->first - start + regions_.at(owner).bytes <= bytes) {
                found.push_back(owner);
            }
        }
    }
    return found;
}

}  // namespace numascape
