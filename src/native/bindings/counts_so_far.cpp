// SPDX-License-Identifier: Apache-2.0
//
// numascape._native.shard.counts_so_far: the sums of a shard that is still being written.
#include "counts_so_far.h"

#include <string>
#include <tuple>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

namespace nb = nanobind;
using namespace numascape;

namespace {

std::tuple<uint64_t, uint64_t, uint64_t, uint32_t> read_counts_so_far(const std::string& path) {
    const nb::gil_scoped_release unlocked;
    const CountsSoFar sums = counts_so_far(path);
    return {sums.reads, sums.writes, sums.pages, sums.threads};
}

}  // namespace

void bind_counts_so_far(nb::module_& shard) {
    shard.def("counts_so_far", &read_counts_so_far, nb::arg("path"),
              "Reads, writes, accessed pages and living threads of a shard that is being written; "
              "raises ShardError.");
}
