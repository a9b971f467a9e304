// SPDX-License-Identifier: Apache-2.0
#include "seen_on_pages.h"

#include <algorithm>
#include <utility>

namespace numascape {
namespace {

// The weight of the division by bytes, in samples.
constexpr double kSamplesOfBytes = 4;

double sum_of(const std::vector<double>& weights) {
    double sum = 0;
    for (const double weight : weights) {
        sum += weight;
    }
    return sum;
}

}  // namespace

void SeenOnPages::add(uint32_t page, uint32_t thread, const SampleRecord& sample) {
    Seen& seen = seen_[key(page, thread)];
    const auto weight = static_cast<double>(sample.weight);
    const auto parts = PageParts::of(sample.seen);
    const auto same = std::find_if(seen.used.begin(), seen.used.end(),
                                   [&](const Used& known) { return known.parts == parts; });
    if (same != seen.used.end()) {
        same->times += weight;
    } else {
        seen.used.push_back({parts, weight});
    }
    seen.samples += sample.samples;
}

std::vector<PageShares::Share> SeenOnPages::as_seen(uint32_t page, uint32_t thread,
                                                    std::vector<PageShares::Share> shares) const {
    const auto at = seen_.find(key(page, thread));
    if (at == seen_.end() || shares.size() < 2) {
        return shares;
    }
    std::vector<double> by_parts(shares.size());
    std::vector<double> bytes(shares.size());
    std::transform(shares.begin(), shares.end(), bytes.begin(),
                   [](const PageShares::Share& share) { return share.weight; });
    for (const Used& seen : at->second.used) {
        double there = 0;
        for (const PageShares::Share& share : shares) {
            there += share.parts.meets(seen.parts) ? share.weight : 0;
        }
        for (size_t i = 0; i < shares.size() && there > 0; ++i) {
            if (shares[i].parts.meets(seen.parts)) {
                by_parts[i] += seen.times * shares[i].weight / there;
            }
        }
    }
    const double every = sum_of(by_parts);
    if (every == 0) {
        return shares;  // what the allocator has between blocks
    }
    const double all_bytes = sum_of(bytes);
    for (size_t i = 0; i < shares.size(); ++i) {
        shares[i].weight =
            at->second.samples * by_parts[i] / every + kSamplesOfBytes * bytes[i] / all_bytes;
    }
    return shares;
}

}  // namespace numascape
