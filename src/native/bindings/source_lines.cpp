// SPDX-License-Identifier: Apache-2.0
//
// numascape._native.source_lines: which source lines use which structure, as tables.
#include <malloc.h>
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "given_table.h"
#include "line_counts.h"
#include "structure_samples.h"
#include "table.h"

namespace nb = nanobind;
using namespace numascape;

namespace {

// Samples from which memory is worth the time to free it.
constexpr size_t kManySamples = size_t{1} << 16;

std::vector<SiteAccess> read_accesses(GivenTable&& table) {
    const auto* site = table.column<uint64_t>("site");
    const auto* phase = table.column<uint32_t>("phase");
    const auto* place = table.column<uint32_t>("place");
    const auto* reads = table.column<uint64_t>("reads");
    const auto* writes = table.column<uint64_t>("writes");
    const auto* executions = table.column<uint64_t>("executions");
    std::vector<SiteAccess> rows;
    rows.reserve(table.rows());
    for (size_t i = 0; i < table.rows(); ++i) {
        rows.push_back({site[i], phase[i], place[i], {reads[i], writes[i]}, executions[i]});
    }
    return rows;
}

std::vector<SiteSample> read_samples(GivenTable&& table) {
    const auto* site = table.column<uint64_t>("site");
    const auto* phase = table.column<uint32_t>("phase");
    const auto* structure = table.column<uint32_t>("structure");
    const auto* weight = table.column<double>("weight");
    const auto* whole = table.column<double>("whole");
    std::vector<SiteSample> rows;
    rows.reserve(table.rows());
    for (size_t i = 0; i < table.rows(); ++i) {
        rows.push_back({site[i], phase[i], structure[i], weight[i], whole[i]});
    }
    return rows;
}

OwnerSamples view_owner_samples(GivenTable& table) {
    OwnerSamples view{};
    view.site = table.column<uint64_t>("site");
    view.phase = table.column<uint32_t>("phase");
    view.owner = table.column<uint32_t>("owner");
    view.weight = table.column<double>("weight");
    view.whole = table.column<double>("whole");
    view.rows = table.rows();
    return view;
}

std::vector<SharedSample> read_shared_samples(GivenTable&& table) {
    const auto* site = table.column<uint64_t>("site");
    const auto* phase = table.column<uint32_t>("phase");
    const auto* group = table.column<uint32_t>("group");
    const auto* weight = table.column<double>("weight");
    std::vector<SharedSample> rows;
    rows.reserve(table.rows());
    for (size_t i = 0; i < table.rows(); ++i) {
        rows.push_back({site[i], phase[i], group[i], weight[i]});
    }
    return rows;
}

std::vector<GroupShare> read_shares(GivenTable&& table) {
    const auto* group = table.column<uint32_t>("group");
    const auto* owner = table.column<uint32_t>("owner");
    const auto* share = table.column<double>("share");
    std::vector<GroupShare> rows;
    rows.reserve(table.rows());
    for (size_t i = 0; i < table.rows(); ++i) {
        rows.push_back({group[i], owner[i], share[i]});
    }
    return rows;
}

std::vector<StructureTotal> read_totals(GivenTable&& table) {
    const auto* structure = table.column<uint32_t>("structure");
    const auto* phase = table.column<uint32_t>("phase");
    const auto* reads = table.column<uint64_t>("reads");
    const auto* writes = table.column<uint64_t>("writes");
    std::vector<StructureTotal> rows;
    rows.reserve(table.rows());
    for (size_t i = 0; i < table.rows(); ++i) {
        rows.push_back({structure[i], phase[i], {reads[i], writes[i]}});
    }
    return rows;
}

template <typename T, typename Get>
std::vector<T> column_of(const std::vector<LineCount>& lines, Get get) {
    std::vector<T> values;
    values.reserve(lines.size());
    for (const LineCount& line : lines) values.push_back(get(line));
    return values;
}

// Samples of structures, until they are counted.
struct StructureSamples {
    std::vector<SiteSample> rows;
    bool are_counted = false;
};

StructureSamples read_structure_samples(const nb::object& samples,
                                        const nb::object& samples_of_owners,
                                        const nb::object& shared_samples, const nb::object& shares,
                                        const nb::object& structures) {
    GivenTable owners(samples_of_owners);
    // The C library keeps much of what earlier steps needed.
    if (owners.rows() > kManySamples) malloc_trim(0);
    StructureSamples found{read_samples(GivenTable(samples))};
    const OwnerSamples of_owners = view_owner_samples(owners);
    auto of_groups = read_shared_samples(GivenTable(shared_samples));
    auto of_shares = read_shares(GivenTable(shares));
    GivenTable by_owner(structures);
    const std::span known(by_owner.column<uint32_t>("structure"), by_owner.rows());
    nb::gil_scoped_release unlocked;
    add_owned(of_owners, known, found.rows);
    add_shared(std::move(of_groups), std::move(of_shares), known, found.rows);
    found.rows.shrink_to_fit();
    return found;
}

Table count(const nb::object& accesses, StructureSamples& samples, const nb::object& totals,
            uint32_t nowhere) {
    // Counting needs most memory of all steps.
    const bool trims = samples.rows.size() > kManySamples;
    if (trims) malloc_trim(0);
    auto of_sites = read_accesses(GivenTable(accesses));
    auto of_all = read_totals(GivenTable(totals));
    if (std::exchange(samples.are_counted, true)) {
        throw std::invalid_argument("these samples were counted before");
    }
    std::vector<LineCount> lines;
    {
        nb::gil_scoped_release unlocked;
        lines =
            count_lines(std::move(of_sites), std::move(samples.rows), std::move(of_all), nowhere);
    }
    if (trims) malloc_trim(0);
    Table out;
    out.add("structure",
            column_of<uint32_t>(lines, [](const auto& line) { return line.structure; }));
    out.add("phase", column_of<uint32_t>(lines, [](const auto& line) { return line.phase; }));
    out.add("place", column_of<uint32_t>(lines, [](const auto& line) { return line.place; }));
    out.add("reads",
            column_of<uint64_t>(lines, [](const auto& line) { return line.counts.reads; }));
    out.add("writes",
            column_of<uint64_t>(lines, [](const auto& line) { return line.counts.writes; }));
    out.add("estimated",
            column_of<uint64_t>(lines, [](const auto& line) { return line.estimated; }));
    return out;
}

}  // namespace

void bind_source_lines(nb::module_& module) {
    nb::module_ m = module.def_submodule("source_lines", "Which lines use which structure");
    nb::class_<StructureSamples>(m, "StructureSamples",
                                 "Samples of structures, which are counted once.");
    m.def("structure_samples", &read_structure_samples, nb::arg("samples"),
          nb::arg("samples_of_owners"), nb::arg("shared_samples"), nb::arg("shares"),
          nb::arg("structures"), "Samples of structures; see structure_samples.h.");
    m.def("count_lines", &count, nb::arg("accesses"), nb::arg("samples"), nb::arg("totals"),
          nb::arg("nowhere"), "The accesses of source lines to structures; see line_counts.h.");
}
