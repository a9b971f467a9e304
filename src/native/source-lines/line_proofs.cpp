// SPDX-License-Identifier: Apache-2.0
#include "line_proofs.h"

#include <algorithm>

namespace numascape {
namespace {

class Prover {
  public:
    Prover(SampledSites& sampled, const std::vector<StructureTotal>& totals,
           StructureNumbers& numbers)
        : sampled_(sampled), totals_(totals), numbers_(numbers) {
        proofs_.cells.resize(sampled.sites().size());
        proofs_.proved.resize(sampled.samples().size());
    }

    LineProofs prove() {
        find_followed();
        remove_too_many();
        find_adding_up();
        return std::move(proofs_);
    }

  private:
    void find_followed();
    void remove_too_many();
    void find_adding_up();
    std::vector<Accesses> sums() const;
    uint32_t number(const SampledSite& site, uint32_t structure) {
        return numbers_.number(structure, site.phase);
    }

    SampledSites& sampled_;
    const std::vector<StructureTotal>& totals_;
    StructureNumbers& numbers_;
    LineProofs proofs_;
};

// The sites whose executions were all noted.
void Prover::find_followed() {
    const auto& sites = sampled_.sites();
    for (size_t i = 0; i < sites.size(); ++i) {
        double noted = 0;
        for (size_t s = sites[i].samples.first; s < sites[i].samples.end; ++s) {
            noted += sampled_.samples()[s].whole;
        }
        if (sites[i].executions == 0 || noted != static_cast<double>(sites[i].executions)) {
            continue;
        }
        for (size_t s = sites[i].samples.first; s < sites[i].samples.end; ++s) {
            const SiteSample& sample = sampled_.samples()[s];
            if (sample.whole > 0) {
                proofs_.cells[i].push_back(
                    {number(sites[i], sample.structure), static_cast<uint64_t>(sample.whole)});
                proofs_.proved[s] = true;
            }
        }
    }
}

// The accesses of the known cells, by structure.
std::vector<Accesses> Prover::sums() const {
    std::vector<Accesses> sums(numbers_.size());
    const auto& sites = sampled_.sites();
    for (size_t i = 0; i < sites.size(); ++i) {
        for (const KnownCell& cell : proofs_.cells[i]) {
            const Accesses part = cell.part_of(sites[i].counts, sites[i].executions);
            sums[cell.structure].reads += part.reads;
            sums[cell.structure].writes += part.writes;
        }
    }
    return sums;
}

// Removes the structures that would get more accesses than they have. This happens if structures
// share a page, because its counts were divided by their sizes.
void Prover::remove_too_many() {
    const std::vector<Accesses> known = sums();
    const auto possible = [&](uint32_t structure) {
        return structure < totals_.size() &&
               known[structure].reads <= totals_[structure].counts.reads &&
               known[structure].writes <= totals_[structure].counts.writes;
    };
    const auto& sites = sampled_.sites();
    for (size_t i = 0; i < sites.size(); ++i) {
        if (proofs_.cells[i].empty()) {
            continue;
        }
        std::erase_if(proofs_.cells[i],
                      [&](const KnownCell& cell) { return !possible(cell.structure); });
        for (size_t s = sites[i].samples.first; s < sites[i].samples.end; ++s) {
            if (proofs_.proved[s] && !possible(number(sites[i], sampled_.samples()[s].structure))) {
                proofs_.proved[s] = false;
            }
        }
    }
}

// The sites that use one structure only and together make all of its remaining accesses.
void Prover::find_adding_up() {
    const std::vector<Accesses> known = sums();
    struct Sum {
        Accesses counts;
        bool alone = true;
    };
    std::vector<Sum> found(numbers_.size());
    const std::vector<bool> none(sampled_.samples().size());
    const auto& sites = sampled_.sites();
    std::vector<uint32_t> only(sites.size());
    std::vector<bool> has_one(sites.size());
    for (size_t i = 0; i < sites.size(); ++i) {
        if (!proofs_.cells[i].empty()) {
            continue;
        }
        const auto& shares = sampled_.shares(sites[i], none);
        for (const auto& share : shares) {
            only[i] = number(sites[i], share.structure);
            found.resize(std::max(found.size(), numbers_.size()));
            Sum& sum = found[only[i]];
            sum.counts.reads += sites[i].counts.reads;
            sum.counts.writes += sites[i].counts.writes;
            sum.alone = sum.alone && shares.size() == 1;
        }
        has_one[i] = shares.size() == 1;
    }
    const auto explained = [&](uint32_t structure) {
        if (structure >= totals_.size() || !found[structure].alone) {
            return false;
        }
        const Accesses all = totals_[structure].counts;
        return found[structure].counts.reads + known[structure].reads == all.reads &&
               found[structure].counts.writes + known[structure].writes == all.writes;
    };
    for (size_t i = 0; i < sites.size(); ++i) {
        if (!has_one[i] || !explained(only[i])) {
            continue;
        }
        proofs_.cells[i].push_back({only[i], 0});
        for (size_t s = sites[i].samples.first; s < sites[i].samples.end; ++s) {
            proofs_.proved[s] = true;
        }
    }
}

}  // namespace

Accesses KnownCell::part_of(Accesses counts, uint64_t executions) const {
    if (times == 0) {
        return counts;
    }
    const uint64_t each = std::max<uint64_t>(executions, 1);
    return {counts.reads / each * times, counts.writes / each * times};
}

LineProofs prove_lines(SampledSites& sampled, const std::vector<StructureTotal>& totals,
                       StructureNumbers& numbers) {
    return Prover(sampled, totals, numbers).prove();
}

}  // namespace numascape
