// SPDX-License-Identifier: Apache-2.0
#include "line_counts.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "line_proofs.h"
#include "proportional_fit.h"
#include "sampled_sites.h"

namespace numascape {
namespace {

class LineCounter {
  public:
    LineCounter(std::vector<SiteAccess> accesses, std::vector<SiteSample> samples,
                const std::vector<StructureTotal>& totals)
        : sampled_(std::move(accesses), std::move(samples)), totals_(totals), numbers_(totals) {
        for (const StructureTotal& total : totals) {
            left_.push_back(total.counts);
        }
    }

    std::vector<LineCount> count(uint32_t nowhere) {
        const LineProofs proofs = prove_lines(sampled_, totals_, numbers_);
        take_certain(proofs);
        estimate(proofs.proved);
        return rounded(nowhere);
    }

  private:
    // The counts of a place for a structure.
    struct Cell {
        Accesses certain;
        double reads = 0, writes = 0;  // estimated
    };
    struct Place {
        uint32_t structure;  // index of totals_
        uint32_t place;
        Cell cell;
    };

    void take_certain(const LineProofs& proofs);
    void estimate(const std::vector<bool>& proved);
    void add_table(const std::vector<size_t>& sites, const SparseTable& table);
    std::vector<LineCount> rounded(uint32_t nowhere) const;
    Cell& cell(uint32_t structure, uint32_t place) {
        return cells_[uint64_t{structure} << 32 | place];
    }
    Accesses left_of(const SampledSite& site) const;

    SampledSites sampled_;
    const std::vector<StructureTotal>& totals_;
    StructureNumbers numbers_;
    std::vector<Accesses> left_;              // of totals_, without the certain ones
    std::vector<Accesses> left_of_accesses_;  // of sampled_.accesses(), likewise
    std::unordered_map<uint64_t, Cell> cells_;
};

void LineCounter::take_certain(const LineProofs& proofs) {
    left_of_accesses_.reserve(sampled_.accesses().size());
    for (const SiteAccess& access : sampled_.accesses()) {
        left_of_accesses_.push_back(access.counts);
    }
    const auto& sites = sampled_.sites();
    for (size_t i = 0; i < sites.size(); ++i) {
        for (const KnownCell& known : proofs.cells[i]) {
            for (size_t a = sites[i].accesses.first; a < sites[i].accesses.end; ++a) {
                const SiteAccess& access = sampled_.accesses()[a];
                const Accesses part = known.part_of(access.counts, sites[i].executions);
                Cell& of_place = cell(known.structure, access.place);
                of_place.certain.reads += part.reads;
                of_place.certain.writes += part.writes;
                for (Accesses* left : {&left_of_accesses_[a], &left_[known.structure]}) {
                    left->reads -= part.reads;
                    left->writes -= part.writes;
                }
            }
        }
    }
}

Accesses LineCounter::left_of(const SampledSite& site) const {
    Accesses left;
    for (size_t a = site.accesses.first; a < site.accesses.end; ++a) {
        left.reads += left_of_accesses_[a].reads;
        left.writes += left_of_accesses_[a].writes;
    }
    return left;
}

void LineCounter::estimate(const std::vector<bool>& proved) {
    SparseTable table;
    std::vector<size_t> rows;  // index of the site of each row
    const auto& sites = sampled_.sites();
    // Most sites have own samples. Memory that is not used then costs nothing.
    const size_t most = sampled_.samples().size() + sites.size();
    table.columns.reserve(most);
    table.shares.reserve(most);
    table.row_end.reserve(sites.size());
    rows.reserve(sites.size());
    for (size_t i = 0; i < sites.size(); ++i) {
        if (!left_of(sites[i]).any()) {
            continue;
        }
        const auto& shares = sampled_.shares(sites[i], proved);
        if (shares.empty()) {
            continue;
        }
        double total = 0;
        for (const auto& share : shares) {
            total += share.weight;
        }
        for (const auto& share : shares) {
            table.columns.push_back(numbers_.number(share.structure, sites[i].phase));
            table.shares.push_back(total > 0 ? share.weight / total : 0);
        }
        table.row_end.push_back(table.columns.size());
        rows.push_back(i);
    }
    add_table(rows, table);
}

void LineCounter::add_table(const std::vector<size_t>& sites, const SparseTable& table) {
    const auto fit_kind = [&](uint64_t Accesses::* kind, double Cell::* sum) {
        std::vector<double> row_sums;
        row_sums.reserve(sites.size());
        for (const size_t site : sites) {
            row_sums.push_back(static_cast<double>(left_of(sampled_.sites()[site]).*kind));
        }
        std::vector<double> column_sums(numbers_.size());
        for (size_t i = 0; i < left_.size(); ++i) {
            column_sums[i] = static_cast<double>(left_[i].*kind);
        }
        const std::vector<double> values = fit(table, row_sums, column_sums);
        size_t first = 0;
        for (size_t row = 0; row < sites.size(); ++row) {
            const IndexRange accesses = sampled_.sites()[sites[row]].accesses;
            for (size_t a = accesses.first; a < accesses.end; ++a) {
                const auto own = static_cast<double>(left_of_accesses_[a].*kind);
                for (size_t i = first; own > 0 && i < table.row_end[row]; ++i) {
                    // A structure with samples, but without counted accesses, gets no accesses.
                    if (table.columns[i] < totals_.size()) {
                        cell(table.columns[i], sampled_.accesses()[a].place).*sum +=
                            own / row_sums[row] * values[i];
                    }
                }
            }
            first = table.row_end[row];
        }
    };
    fit_kind(&Accesses::reads, &Cell::reads);
    fit_kind(&Accesses::writes, &Cell::writes);
}

// Estimates of a structure, as whole numbers that add up to `target` or to their own sum.
class Rounding {
  public:
    Rounding(double total, uint64_t target)
        : total_(total),
          known_(std::min(static_cast<double>(target), std::nearbyint(total))),
          rest_(target) {}

    uint64_t part(double estimate) {
        upto_ += total_ > 0 ? estimate / total_ * known_ : 0;
        // Cumulative rounding: the parts add up to the whole.
        const auto whole = static_cast<uint64_t>(std::nearbyint(upto_));
        const uint64_t part = std::min(whole - std::min(given_, whole), rest_);
        given_ += part;
        rest_ -= part;
        return part;
    }
    uint64_t rest() const { return rest_; }

  private:
    double total_;
    double known_;
    double upto_ = 0;
    uint64_t given_ = 0;
    uint64_t rest_;
};

std::vector<LineCount> LineCounter::rounded(uint32_t nowhere) const {
    std::vector<Place> places;
    places.reserve(cells_.size() + totals_.size());
    for (const auto& [key, cell] : cells_) {
        places.push_back({static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key), cell});
    }
    for (uint32_t structure = 0; structure < totals_.size(); ++structure) {
        if (!cells_.contains(uint64_t{structure} << 32 | nowhere)) {
            places.push_back({structure, nowhere, {}});
        }
    }
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
        return std::tie(a.structure, a.place) < std::tie(b.structure, b.place);
    });
    std::vector<LineCount> lines;
    for (auto first = places.begin(); first != places.end();) {
        const uint32_t structure = first->structure;
        const auto end = std::find_if(
            first, places.end(), [&](const Place& place) { return place.structure != structure; });
        double reads = 0, writes = 0;
        for (auto at = first; at != end; ++at) {
            reads += at->cell.reads;
            writes += at->cell.writes;
        }
        Rounding round_reads(reads, left_[structure].reads);
        Rounding round_writes(writes, left_[structure].writes);
        LineCount* without_line = nullptr;
        const size_t begin = lines.size();
        for (auto at = first; at != end; ++at) {
            const Accesses part{round_reads.part(at->cell.reads),
                                round_writes.part(at->cell.writes)};
            lines.push_back(
                {totals_[structure].structure,
                 totals_[structure].phase,
                 at->place,
                 {at->cell.certain.reads + part.reads, at->cell.certain.writes + part.writes},
                 part.reads + part.writes});
        }
        for (size_t i = begin; i < lines.size(); ++i) {
            without_line = lines[i].place == nowhere ? &lines[i] : without_line;
        }
        without_line->counts.reads += round_reads.rest();
        without_line->counts.writes += round_writes.rest();
        without_line->estimated += round_reads.rest() + round_writes.rest();
        first = end;
    }
    std::erase_if(lines, [](const LineCount& line) { return !line.counts.any(); });
    return lines;
}

}  // namespace

std::vector<LineCount> count_lines(std::vector<SiteAccess> accesses,
                                   std::vector<SiteSample> samples,
                                   std::vector<StructureTotal> totals, uint32_t nowhere) {
    if (accesses.empty()) {
        return {};
    }
    std::sort(totals.begin(), totals.end(), [](const StructureTotal& a, const StructureTotal& b) {
        return std::tie(a.structure, a.phase) < std::tie(b.structure, b.phase);
    });
    return LineCounter(std::move(accesses), std::move(samples), totals).count(nowhere);
}

}  // namespace numascape
