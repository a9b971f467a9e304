// SPDX-License-Identifier: Apache-2.0
#include "seen_on_pages.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace numascape {
namespace {

using Share = PageShares::Share;

// The division that is known without samples (or without those of a phase) has the weight of this
// many samples.
constexpr double kSamplesOfOthers = 4;

// Finds the shares at given times, which must be asked for in ascending order.
class SharesInTime {
  public:
    SharesInTime(const std::vector<Share>& shares, double length)
        : in_order_(shares), length_(length) {
        std::stable_sort(in_order_.begin(), in_order_.end(),
                         [](const Share& a, const Share& b) { return a.begin < b.begin; });
    }
    // The shares that may own the parts that were used at the time.
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
    // A sample at a time without a block may belong to one of this many next blocks on the page.
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
    auto& [all, of_phase] = seen_[key(page, thread)];
    const auto weight = static_cast<double>(sample.weight);
    const auto parts = PageParts::of(sample.seen);
    const auto same =
        by_time ? all.end() : std::find_if(all.begin(), all.end(), [&](const Used& known) {
            return known.parts == parts;
        });
    if (same != all.end()) {
        same->times += weight;
        same->samples += sample.samples;
        return;
    }
    if (by_time) {
        of_phase[sample.phase].push_back(static_cast<uint32_t>(all.size()));
    }
    all.push_back({parts, by_time ? sample.time : 0, weight, sample.samples});
}

template <typename Each>
std::vector<Share> SeenOnPages::weighed(const Each& each_used, std::vector<Share> shares,
                                        const std::vector<Share>& otherwise, uint64_t since,
                                        uint64_t until) {
    SharesInTime in_time(shares, PageShares::ticks(since, until));
    std::unordered_map<uint32_t, double> of_owner;
    double every = 0;
    double samples = 0;
    each_used([&](const Used& used) {
        if (used.time != 0 && (used.time < since || used.time >= until)) {
            return;
        }
        samples += used.samples;
        const auto owners = in_time.owners(used.parts, used.time);
        const double there = sum_of_weights(owners);
        for (const Share& owner : owners) {
            of_owner[owner.owner] += used.times * owner.weight / there;
        }
        every += owners.empty() ? 0 : used.times;
    });
    if (every == 0) {
        return otherwise;  // what the allocator has between blocks
    }
    const double sum = sum_of_weights(otherwise);
    for (size_t i = 0; i < shares.size(); ++i) {
        const auto seen = of_owner.find(shares[i].owner);
        const double times = seen == of_owner.end() ? 0 : std::exchange(seen->second, 0);
        shares[i].weight = samples * times / every + kSamplesOfOthers * otherwise[i].weight / sum;
    }
    return shares;
}

std::vector<Share> SeenOnPages::as_seen(uint32_t page, uint32_t thread, std::vector<Share> shares,
                                        uint64_t since, uint64_t until) const {
    const auto at = seen_.find(key(page, thread));
    if (at == seen_.end() || shares.size() < 2) {
        return shares;
    }
    const auto each = [&](const auto& visit) {
        std::for_each(at->second.all.begin(), at->second.all.end(), visit);
    };
    return weighed(each, shares, shares, since, until);
}

bool SeenOnPages::tells(const PhaseOnPage& use) const {
    const auto at = seen_.find(key(use.page, use.thread));
    return at != seen_.end() && at->second.of_phase.size() <= kMaxPhases &&
           at->second.of_phase.contains(use.phase);
}

std::vector<Share> SeenOnPages::in_phase(const PhaseOnPage& use, std::vector<Share> shares,
                                         const std::vector<Share>& as_seen, uint64_t since,
                                         uint64_t until) const {
    if (!tells(use) || shares.size() < 2) {
        return as_seen;
    }
    const auto& [all, of_phase] = seen_.at(key(use.page, use.thread));
    const auto each = [&all = all, &indices = of_phase.at(use.phase)](const auto& visit) {
        for (const uint32_t index : indices) {
            visit(all[index]);
        }
    };
    return weighed(each, std::move(shares), as_seen, since, until);
}

}  // namespace numascape
