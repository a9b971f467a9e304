// SPDX-License-Identifier: Apache-2.0
//
// numascape._native.source_lines: which source lines use which structure, as NumPy columns.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "columns.h"
#include "line_counts.h"
#include "structure_samples.h"

namespace nb = nanobind;
using namespace numascape;

namespace {

// The columns of a table, given as a dictionary of NumPy arrays of equal length.
class Table {
  public:
    explicit Table(const nb::dict& columns) : columns_(columns) {}

    template <typename T>
    const T* column(const char* name) {
        using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
        const auto found = nb::cast<Column>(columns_[name]);
        if (is_known_ && found.size() != rows_) throw std::invalid_argument("unequal columns");
        is_known_ = true;
        rows_ = found.size();
        return found.data();  // kept by the dictionary
    }
    size_t rows() const { return rows_; }

  private:
    nb::dict columns_;
    size_t rows_ = 0;
    bool is_known_ = false;
};

std::vector<SiteAccess> read_accesses(Table table) {
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

std::vector<SiteSample> read_samples(Table table) {
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

OwnerSamples view_owner_samples(Table& table) {
    OwnerSamples view{};
    view.site = table.column<uint64_t>("site");
    view.phase = table.column<uint32_t>("phase");
    view.owner = table.column<uint32_t>("owner");
    view.weight = table.column<double>("weight");
    view.whole = table.column<double>("whole");
    view.rows = table.rows();
    return view;
}

std::vector<SharedSample> read_shared_samples(Table table) {
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

std::vector<GroupShare> read_shares(Table table) {
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

std::vector<StructureTotal> read_totals(Table table) {
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
auto column_of(const std::vector<LineCount>& lines, Get get) {
    std::vector<T> values;
    values.reserve(lines.size());
    for (const LineCount& line : lines) values.push_back(get(line));
    return column(std::move(values));
}

using Structures = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::dict count(const nb::dict& accesses, const nb::dict& samples, const nb::dict& samples_of_owners,
               const nb::dict& shared_samples, const nb::dict& shares, const Structures& structures,
               const nb::dict& totals, uint32_t nowhere) {
    auto of_sites = read_accesses(Table(accesses));
    auto of_structures = read_samples(Table(samples));
    Table owners(samples_of_owners);
    const OwnerSamples of_owners = view_owner_samples(owners);
    auto of_groups = read_shared_samples(Table(shared_samples));
    auto of_shares = read_shares(Table(shares));
    auto of_all = read_totals(Table(totals));
    const std::span known(structures.data(), structures.size());
    std::vector<LineCount> lines;
    {
        nb::gil_scoped_release unlocked;
        add_owned(of_owners, known, of_structures);
        add_shared(std::move(of_groups), std::move(of_shares), known, of_structures);
        lines =
            count_lines(std::move(of_sites), std::move(of_structures), std::move(of_all), nowhere);
    }
    nb::dict out;
    out["structure"] = column_of<uint32_t>(lines, [](const auto& line) { return line.structure; });
    out["phase"] = column_of<uint32_t>(lines, [](const auto& line) { return line.phase; });
    out["place"] = column_of<uint32_t>(lines, [](const auto& line) { return line.place; });
    out["reads"] = column_of<uint64_t>(lines, [](const auto& line) { return line.counts.reads; });
    out["writes"] = column_of<uint64_t>(lines, [](const auto& line) { return line.counts.writes; });
    out["estimated"] = column_of<uint64_t>(lines, [](const auto& line) { return line.estimated; });
    return out;
}

}  // namespace

void bind_source_lines(nb::module_& module) {
    nb::module_ m = module.def_submodule("source_lines", "Which lines use which structure");
    m.def("count_lines", &count, nb::arg("accesses"), nb::arg("samples"),
          nb::arg("samples_of_owners"), nb::arg("shared_samples"), nb::arg("shares"),
          nb::arg("structures"), nb::arg("totals"), nb::arg("nowhere"),
          "The accesses of source lines to structures; see line_counts.h.");
}
