// SPDX-License-Identifier: Apache-2.0
//
// numascape._native.shard.counts_so_far and largest_blocks: a shard that is still being written.
#include "counts_so_far.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "largest_blocks.h"

namespace nb = nanobind;
using namespace numascape;

namespace {

std::tuple<uint64_t, uint64_t, uint64_t, uint32_t> read_counts_so_far(const std::string& path) {
    const nb::gil_scoped_release unlocked;
    const CountsSoFar sums = counts_so_far(path);
    return {sums.reads, sums.writes, sums.pages, sums.threads};
}

using Site = std::tuple<uint64_t, std::vector<uint64_t>>;

std::pair<std::vector<Site>, std::vector<ModuleSoFar>> read_largest(const std::string& path,
                                                                    size_t most) {
    const nb::gil_scoped_release unlocked;
    LargestBlocks found = largest_blocks(path, most);
    std::vector<Site> sites;
    for (LiveBlocks& site : found.sites) {
        sites.emplace_back(site.bytes, std::move(site.frames));
    }
    return {std::move(sites), std::move(found.modules)};
}

nb::tuple read_largest_blocks(const std::string& path, size_t most) {
    const auto [sites, modules] = read_largest(path, most);
    nb::list loaded;
    for (const ModuleSoFar& module : modules) {
        loaded.append(nb::make_tuple(nb::bytes(module.path.data(), module.path.size()),
                                     module.start, module.end, module.load_bias));
    }
    return nb::make_tuple(nb::cast(sites), loaded);
}

}  // namespace

void bind_counts_so_far(nb::module_& shard) {
    shard.def("counts_so_far", &read_counts_so_far, nb::arg("path"),
              "Reads, writes, accessed pages and living threads of a shard that is being written; "
              "raises ShardError.");
    shard.def("largest_blocks", &read_largest_blocks, nb::arg("path"), nb::arg("most"),
              "The largest heap blocks by call stack, and the loaded modules, of a shard that is "
              "being written; raises ShardError.");
}
