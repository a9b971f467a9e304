// SPDX-License-Identifier: Apache-2.0
//
// numascape._native.live: the pages of running processes as NumPy columns.
#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "columns.h"
#include "file_cache.h"
#include "file_nodes.h"
#include "page_nodes.h"
#include "page_table.h"
#include "part_counts.h"
#include "process_words.h"

namespace nb = nanobind;
using namespace nb::literals;
namespace live = numascape::live;

namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Rows of start, end, the size of pages, PartMemory, and the node (kAskNode: 2^64 - 1).
using PartRows = nb::ndarray<const std::uint64_t, nb::shape<-1, 5>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::span<const T> values(const Column<T>& column) {
    return {column.data(), column.size()};
}

// Runs without Python's lock; an error of the kernel becomes Python's OSError.
template <typename Work>
auto of_kernel(Work work) {
    try {
        const nb::gil_scoped_release released;
        return work();
    } catch (const std::system_error& error) {
        errno = error.code().value();
        PyErr_SetFromErrno(PyExc_OSError);
        throw nb::python_error();
    }
}

live::Part checked(std::uint64_t start, std::uint64_t end, std::uint64_t page_bytes) {
    const bool aligned = start % live::kPage == 0 && end % live::kPage == 0;
    if (!aligned || start > end || page_bytes < live::kPage || page_bytes % live::kPage != 0) {
        throw nb::value_error("not a range of pages");
    }
    return {.start = start, .end = end, .page_bytes = page_bytes};
}

nb::dict count_pages(int pid, const std::string& pagemap, const PartRows& rows, unsigned threads,
                     unsigned every) {
    std::vector<live::Part> parts;
    for (std::size_t i = 0; i < rows.shape(0); i++) {
        const std::uint64_t* row = rows.data() + i * rows.shape(1);
        live::Part part = checked(row[0], row[1], row[2]);
        if (row[3] > static_cast<std::uint64_t>(live::PartMemory::kFile)) {
            throw nb::value_error("not a kind of memory");
        }
        part.memory = static_cast<live::PartMemory>(row[3]);
        part.node = static_cast<std::int32_t>(row[4]);
        parts.push_back(part);
    }
    bool tells_huge_pages = false;
    auto found = of_kernel([&] {
        const live::PageTable table(pagemap);
        auto counts = live::count_parts(pid, table, parts, {threads, every});
        tells_huge_pages = table.tells_huge_pages();
        return counts;
    });
    nb::dict out;
    out["tells_huge_pages"] = tells_huge_pages;
    out["part"] = column(std::move(found.parts.part));
    out["node"] = column(std::move(found.parts.node));
    out["flags"] = column(std::move(found.parts.flags));
    out["bytes"] = column(std::move(found.parts.bytes));
    nb::dict cells;
    cells["part"] = column(std::move(found.cells.part));
    cells["cell"] = column(std::move(found.cells.cell));
    cells["node"] = column(std::move(found.cells.node));
    cells["bytes"] = column(std::move(found.cells.bytes));
    cells["cell_bytes"] = column(std::move(found.cells.cell_bytes));
    out["cells"] = cells;
    return out;
}

nb::dict list_pages(int pid, const std::string& pagemap, std::uint64_t start, std::uint64_t end,
                    std::uint64_t page_bytes) {
    const live::Part part = checked(start, end, page_bytes);
    auto found = of_kernel([&] { return live::list_pages(pid, live::PageTable(pagemap), part); });
    nb::dict out;
    out["address"] = column(std::move(found.address));
    out["node"] = column(std::move(found.node));
    out["flags"] = column(std::move(found.flags));
    out["bytes"] = column(std::move(found.bytes));
    return out;
}

void add_file_nodes(
    int pid, const std::string& pagemap, std::uint64_t start, std::uint64_t end,
    std::uint64_t page_bytes,
    const nb::ndarray<std::int16_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& nodes) {
    const live::Part part = checked(start, end, page_bytes);
    if (nodes.size() != (end - start) / page_bytes) throw nb::value_error("not an element a page");
    of_kernel([&] {
        live::add_file_nodes(pid, live::PageTable(pagemap), part, {nodes.data(), nodes.size()});
    });
}

nb::dict page_runs(const std::string& pagemap, std::uint64_t start, std::uint64_t end) {
    const live::Part range = checked(start, end, live::kPage);
    const auto runs = of_kernel([&] {
        std::vector<live::PageRun> found;
        live::PageTable(pagemap).find(range.start, range.end, found);
        return found;
    });
    std::vector<std::uint64_t> starts, ends;
    std::vector<std::uint8_t> flags;
    for (const live::PageRun& run : runs) {
        starts.push_back(run.start);
        ends.push_back(run.end);
        flags.push_back(run.flags);
    }
    nb::dict out;
    out["start"] = column(std::move(starts));
    out["end"] = column(std::move(ends));
    out["flags"] = column(std::move(flags));
    return out;
}

auto query_nodes(int pid, const Column<std::uint64_t>& addresses) {
    auto nodes = of_kernel([&] {
        std::vector<int> found(addresses.size());
        live::query_nodes(pid, values(addresses), found);
        return found;
    });
    return column(std::move(nodes));
}

auto read_words(int pid, const Column<std::uint64_t>& addresses) {
    return column(of_kernel([&] { return live::read_words(pid, values(addresses)); }));
}

// A file whose cached pages are mapped here until close().
class MappedCache {
  public:
    explicit MappedCache(const std::string& path)
        : file_(of_kernel([&] { return std::make_unique<live::CachedFile>(path); })) {}

    std::uint64_t start() const { return file().start(); }
    std::uint64_t bytes() const { return file().bytes(); }
    void close() { file_.reset(); }

  private:
    const live::CachedFile& file() const {
        if (!file_) throw nb::value_error("the file is closed");
        return *file_;
    }

    std::unique_ptr<live::CachedFile> file_;
};

nb::tuple move_pages(int pid, const Column<std::uint64_t>& addresses,
                     const Column<std::int32_t>& nodes, bool shared) {
    if (addresses.size() != nodes.size()) throw nb::value_error("columns of different lengths");
    std::vector<int> results(addresses.size());
    const int error = of_kernel(
        [&] { return live::move_pages(pid, values(addresses), values(nodes), shared, results); });
    return nb::make_tuple(error, column(std::move(results)));
}

}  // namespace

void bind_live(nb::module_& module) {
    nb::module_ m = module.def_submodule("live", "The pages of running processes");
    m.attr("FILE") = static_cast<int>(live::kFile);
    m.attr("SWAPPED") = static_cast<int>(live::kSwapped);
    m.attr("HUGE") = static_cast<int>(live::kHuge);
    m.attr("NOT_TRIED") = live::kNotTried;
    nb::class_<MappedCache>(m, "CachedFile", "A file whose cached pages are mapped here")
        .def(nb::init<const std::string&>(), "path"_a, "Map it; raises OSError.")
        .def_prop_ro("start", &MappedCache::start)
        .def_prop_ro("bytes", &MappedCache::bytes)
        .def("close", &MappedCache::close, "Unmap it; the pages stay in the page cache.");
    m.def("count_pages", &count_pages, "pid"_a, "pagemap"_a, "parts"_a, "threads"_a, "every"_a,
          "Bytes in memory by part, node and flags; raises OSError.");
    m.def("list_pages", &list_pages, "pid"_a, "pagemap"_a, "start"_a, "end"_a, "page_bytes"_a,
          "The pages of a range that are in memory; raises OSError.");
    m.attr("NOT_MAPPED") = static_cast<int>(live::kNotMapped);
    m.attr("IN_HUGE_PAGE") = static_cast<int>(live::kInHugePage);
    m.def("add_file_nodes", &add_file_nodes, "pid"_a, "pagemap"_a, "start"_a, "end"_a,
          "page_bytes"_a, "nodes"_a.noconvert(),
          "Enter the nodes of a file's pages that a process has mapped; raises OSError.");
    m.def("page_runs", &page_runs, "pagemap"_a, "start"_a, "end"_a,
          "The runs of pages in memory or swapped, from a pagemap; raises OSError.");
    m.def("query_nodes", &query_nodes, "pid"_a, "addresses"_a,
          "The node of each page, or a negative errno; raises OSError.");
    m.def("read_words", &read_words, "pid"_a, "addresses"_a,
          "The words of 8 bytes at these addresses, 0 without memory; raises OSError.");
    m.def("move_pages", &move_pages, "pid"_a, "addresses"_a, "nodes"_a, "shared"_a,
          "Move pages; the errno of the call, and by page its node, -errno or NOT_TRIED.");
}
