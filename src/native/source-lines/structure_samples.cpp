// SPDX-License-Identifier: Apache-2.0
#include "structure_samples.h"

#include <algorithm>
#include <tuple>

namespace numascape {
namespace {

size_t count_structures(std::span<const uint32_t> structures) {
    size_t count = 0;
    for (const uint32_t structure : structures) {
        if (structure != kNoStructure) {
            count = std::max<size_t>(count, size_t{structure} + 1);
        }
    }
    return count;
}

// Sums by structure, for one site after the other.
class SiteSums {
  public:
    SiteSums(std::span<const uint32_t> structures, std::vector<SiteSample>& samples)
        : structures_(structures), sums_(count_structures(structures)), samples_(samples) {}

    // Rows of one site and phase must follow each other, or become several rows.
    void begin(uint64_t site, uint32_t phase) {
        if (site != site_ || phase != phase_) {
            finish();
            site_ = site;
            phase_ = phase;
        }
    }
    void add(uint32_t owner, double weight, double whole) {
        const uint32_t structure = owner < structures_.size() ? structures_[owner] : kNoStructure;
        if (structure == kNoStructure) {
            return;
        }
        Sum& sum = sums_[structure];
        if (!sum.is_used) {
            sum.is_used = true;
            used_.push_back(structure);
        }
        sum.weight += weight;
        sum.whole += whole;
    }
    void finish() {
        std::sort(used_.begin(), used_.end());
        for (const uint32_t structure : used_) {
            samples_.push_back(
                {site_, phase_, structure, sums_[structure].weight, sums_[structure].whole});
            sums_[structure] = {};
        }
        used_.clear();
    }

  private:
    struct Sum {
        double weight = 0;
        double whole = 0;
        bool is_used = false;
    };
    std::span<const uint32_t> structures_;
    std::vector<Sum> sums_;  // by structure
    std::vector<uint32_t> used_;
    std::vector<SiteSample>& samples_;
    uint64_t site_ = 0;
    uint32_t phase_ = 0;
};

}  // namespace

void add_owned(const OwnerSamples& owned, std::span<const uint32_t> structures,
               std::vector<SiteSample>& samples) {
    SiteSums sums(structures, samples);
    for (size_t i = 0; i < owned.rows; ++i) {
        sums.begin(owned.site[i], owned.phase[i]);
        sums.add(owned.owner[i], owned.weight[i], owned.whole[i]);
    }
    sums.finish();
}

void add_shared(std::vector<SharedSample> shared, std::vector<GroupShare> shares,
                std::span<const uint32_t> structures, std::vector<SiteSample>& samples) {
    std::stable_sort(shares.begin(), shares.end(),
                     [](const GroupShare& a, const GroupShare& b) { return a.group < b.group; });
    std::stable_sort(shared.begin(), shared.end(),
                     [](const SharedSample& a, const SharedSample& b) {
                         return std::tie(a.site, a.phase) < std::tie(b.site, b.phase);
                     });
    SiteSums sums(structures, samples);
    for (const SharedSample& sample : shared) {
        sums.begin(sample.site, sample.phase);
        auto share =
            std::partition_point(shares.begin(), shares.end(),
                                 [&](const GroupShare& each) { return each.group < sample.group; });
        for (; share != shares.end() && share->group == sample.group; ++share) {
            sums.add(share->owner, sample.weight * share->share, 0);
        }
    }
    sums.finish();
}

}  // namespace numascape
