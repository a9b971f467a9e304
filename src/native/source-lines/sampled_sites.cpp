// SPDX-License-Identifier: Apache-2.0
#include "sampled_sites.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace numascape {
namespace {

template <typename Row>
auto place_of(const Row& row) {
    return std::make_pair(row.site, row.phase);
}

auto order_of(const SiteSample& sample) {
    return std::make_tuple(sample.site, sample.phase, sample.structure);
}

void merge(std::vector<SiteSample>& samples) {
    const auto before = [](const SiteSample& a, const SiteSample& b) {
        return order_of(a) < order_of(b);
    };
    if (!std::is_sorted(samples.begin(), samples.end(), before)) {
        std::stable_sort(samples.begin(), samples.end(), before);
    }
    size_t kept = 0;
    for (const SiteSample& sample : samples) {
        if (kept != 0 && order_of(samples[kept - 1]) == order_of(sample)) {
            samples[kept - 1].weight += sample.weight;
            samples[kept - 1].whole += sample.whole;
        } else {
            samples[kept++] = sample;
        }
    }
    samples.resize(kept);
    samples.shrink_to_fit();
}

// All columns decide, so that the order does not depend on the order before. (A stable sort needs
// as much memory again.)
bool comes_before(const SiteAccess& a, const SiteAccess& b) {
    const auto order = [](const SiteAccess& access) {
        return std::tie(access.site, access.phase, access.place, access.executions,
                        access.counts.reads, access.counts.writes);
    };
    return order(a) < order(b);
}

}  // namespace

StructureNumbers::StructureNumbers(const std::vector<StructureTotal>& totals) {
    for (const StructureTotal& total : totals) {
        number(total.structure, total.phase);
    }
}

uint32_t StructureNumbers::number(uint32_t structure, uint32_t phase) {
    const uint64_t key = uint64_t{structure} << 32 | phase;
    return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
}

SampledSites::SampledSites(std::vector<SiteAccess> accesses, std::vector<SiteSample> samples)
    : accesses_(std::move(accesses)), samples_(std::move(samples)) {
    std::sort(accesses_.begin(), accesses_.end(), comes_before);
    merge(samples_);
    const auto begins = [&](size_t i) {
        return i == 0 || place_of(accesses_[i - 1]) != place_of(accesses_[i]);
    };
    size_t sites = 0;
    for (size_t i = 0; i < accesses_.size(); ++i) {
        sites += begins(i) ? 1 : 0;
    }
    sites_.reserve(sites);
    for (size_t first = 0; first < accesses_.size();) {
        size_t end = first + 1;
        while (end < accesses_.size() && !begins(end)) {
            ++end;
        }
        add_site(static_cast<uint32_t>(first), static_cast<uint32_t>(end));
        first = end;
    }
}

void SampledSites::add_site(uint32_t first, uint32_t end) {
    SampledSite site{accesses_[first].site, accesses_[first].phase, {first, end}, {}, {}, {}, 0};
    for (size_t i = first; i < end; ++i) {
        site.counts.reads += accesses_[i].counts.reads;
        site.counts.writes += accesses_[i].counts.writes;
        site.executions = std::max(site.executions, accesses_[i].executions);
    }
    if (!sites_.empty() && sites_.back().site == site.site) {
        site.of_all_phases = sites_.back().of_all_phases;
    } else {
        const size_t from = sites_.empty() ? 0 : sites_.back().of_all_phases.end;
        const auto begin = samples_.begin() + static_cast<ptrdiff_t>(from);
        const auto low = std::partition_point(begin, samples_.end(), [&](const SiteSample& sample) {
            return sample.site < site.site;
        });
        auto high = low;
        while (high != samples_.end() && high->site == site.site) {
            ++high;
        }
        site.of_all_phases = {static_cast<uint32_t>(low - samples_.begin()),
                              static_cast<uint32_t>(high - samples_.begin())};
    }
    const auto all = samples_.begin();
    const auto [low, high] = std::equal_range(
        all + static_cast<ptrdiff_t>(site.of_all_phases.first),
        all + static_cast<ptrdiff_t>(site.of_all_phases.end),
        SiteSample{site.site, site.phase, 0, 0, 0},
        [](const SiteSample& a, const SiteSample& b) { return a.phase < b.phase; });
    site.samples = {static_cast<uint32_t>(low - all), static_cast<uint32_t>(high - all)};
    sites_.push_back(site);
}

const std::vector<SampledSites::Share>& SampledSites::shares(const SampledSite& site,
                                                             const std::vector<bool>& left_out) {
    shares_.clear();
    for (size_t i = site.samples.first; i < site.samples.end; ++i) {
        if (!left_out[i]) {
            shares_.push_back({samples_[i].structure, samples_[i].weight});
        }
    }
    if (!shares_.empty()) {
        return shares_;
    }
    const IndexRange all = site.of_all_phases;
    if (known_left_out_ == &left_out && known_of_all_phases_.first == all.first &&
        known_of_all_phases_.end == all.end) {
        return shares_of_all_phases_;
    }
    known_left_out_ = &left_out;
    known_of_all_phases_ = all;
    std::vector<Share>& found = shares_of_all_phases_;
    found.clear();
    for (size_t i = all.first; i < all.end; ++i) {
        if (!left_out[i]) {
            found.push_back({samples_[i].structure, samples_[i].weight});
        }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Share& a, const Share& b) { return a.structure < b.structure; });
    size_t kept = 0;
    for (const Share& share : found) {
        if (kept != 0 && found[kept - 1].structure == share.structure) {
            found[kept - 1].weight += share.weight;
        } else {
            found[kept++] = share;
        }
    }
    found.resize(kept);
    return found;
}

}  // namespace numascape
