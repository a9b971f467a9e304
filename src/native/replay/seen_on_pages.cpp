// SPDX-License-Identifier: Apache-2.0
#include "seen_on_pages.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace numascape {
namespace {

using Share = PageShares::Share;

// The weight of the division by bytes, in samples.
constexpr double kSamplesOfBytes = 4;

// The shares at rising times.
class SharesInTime {
  public:
    SharesInTime(const std::vector<Share>& shares, double length)
        : in_order_(shares), length_(length) {
        std::stable_sort(in_order_.begin(), in_order_.end(),
                         [](const Share& a, const Share& b) { return a.begin < b.begin; });
    }
    // Those that can own what was used at the time.
    std::vector<Share> owners(const PageParts& used, uint64_t time) {
        for (; next_ < in_order_.size() && in_order_[next_].begin <= time; ++next_) {
            now_.push_back(in_order_[next_]);
        }
        std::erase_if(now_, [&](const Share& share) { return share.end <= time; });
        auto found = PageShares::narrow(now_, used, time, length_);
        const size_t end = std::min(in_order_.size(), next_ + kMaxFollowing);
        for (size_t i = next_; found.empty() && i < end; ++i) {
            found = PageShares::narrow({in_order_[i]}, used, time, length_);
        }
        return found;
    }

  private:
    // A sample may have seen one of this many next blocks on the page.
    static constexpr size_t kMaxFollowing = 16;
    std::vector<Share> in_order_;
    std::vector<Share> now_;
    size_t next_ = 0;
    double length_;
};

double sum_of_weights(const std::vector<Share>& shares) {
    double sum = 0;
    for (const Share& share : shares) {
        sum += share.weight;
    }
    return sum;
}

}  // namespace

void SeenOnPages::add(uint32_t page, uint32_t thread, const SampleRecord& sample, bool by_time) {
    std::vector<Used>& seen = seen_[key(page, thread)];
    const auto weight = static_cast<double>(sample.weight);
    const auto parts = PageParts::of(sample.seen);
    const auto same =
        by_time ? seen.end() : std::find_if(seen.begin(), seen.end(), [&](const Used& known) {
            return known.parts == parts;
        });
    if (same != seen.end()) {
        same->times += weight;
        same->samples += sample.samples;
    } else {
        seen.push_back({parts, by_time ? sample.time : 0, weight, sample.samples});
    }
}

std::vector<Share> SeenOnPages::as_seen(uint32_t page, uint32_t thread, std::vector<Share> shares,
                                        uint64_t since, uint64_t until) const {
    const auto at = seen_.find(key(page, thread));
    if (at == seen_.end() || shares.size() < 2) {
        return shares;
    }
    SharesInTime in_time(shares, PageShares::ticks(since, until));
    std::unordered_map<uint32_t, double> of_owner;
    double every = 0;
    double samples = 0;
    for (const Used& used : at->second) {
        if (used.time != 0 && (used.time < since || used.time >= until)) {
            continue;
        }
        samples += used.samples;
        const auto owners = in_time.owners(used.parts, used.time);
        const double there = sum_of_weights(owners);
        for (const Share& owner : owners) {
            of_owner[owner.owner] += used.times * owner.weight / there;
        }
        every += owners.empty() ? 0 : used.times;
    }
    if (every == 0) {
        return shares;  // what the allocator has between blocks
    }
    const double all_bytes = sum_of_weights(shares);
    for (Share& share : shares) {
        const auto seen = of_owner.find(share.owner);
        const double times = seen == of_owner.end() ? 0 : std::exchange(seen->second, 0);
        share.weight = samples * times / every + kSamplesOfBytes * share.weight / all_bytes;
    }
    return shares;
}

}  // namespace numascape
