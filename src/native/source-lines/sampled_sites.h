// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "line_counts.h"

namespace numascape {

// A range of indices: [first, end). There are many of them, and less than 2^32 rows.
struct IndexRange {
    uint32_t first = 0;
    uint32_t end = 0;

    bool empty() const { return first == end; }
};

// A site in a phase: its instructions, its own samples, and the samples of the site in any phase.
struct SampledSite {
    uint64_t site;
    uint32_t phase;
    IndexRange accesses;
    IndexRange samples;
    IndexRange of_all_phases;
    Accesses counts;
    uint64_t executions;
};

// Numbers the structures in their phases. The first numbers are those of the totals; further ones
// are structures that have samples, but no accesses.
class StructureNumbers {
  public:
    explicit StructureNumbers(const std::vector<StructureTotal>& totals);

    uint32_t number(uint32_t structure, uint32_t phase);
    size_t size() const { return numbers_.size(); }

  private:
    std::unordered_map<uint64_t, uint32_t> numbers_;
};

// Instructions and samples by site and phase.
class SampledSites {
  public:
    SampledSites(std::vector<SiteAccess> accesses, std::vector<SiteSample> samples);

    const std::vector<SampledSite>& sites() const { return sites_; }
    const std::vector<SiteAccess>& accesses() const { return accesses_; }
    const std::vector<SiteSample>& samples() const { return samples_; }

    struct Share {
        uint32_t structure;
        double weight;
    };
    // The samples of the site without those that `left_out` says, by index. If a phase was too
    // short for a sample, the samples of the other phases are used. The result is valid until the
    // next call.
    const std::vector<Share>& shares(const SampledSite& site, const std::vector<bool>& left_out);

  private:
    void add_site(uint32_t first, uint32_t end);

    std::vector<SiteAccess> accesses_;  // by site and phase
    std::vector<SiteSample> samples_;   // by site, phase and structure, each once
    std::vector<SampledSite> sites_;
    std::vector<Share> shares_;
    std::vector<Share> shares_of_all_phases_;
    IndexRange known_of_all_phases_;
    const std::vector<bool>* known_left_out_ = nullptr;
};

}  // namespace numascape
