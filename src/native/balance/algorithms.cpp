// SPDX-License-Identifier: Apache-2.0
#include "algorithms.h"

#include <string>

namespace numascape::balance {

namespace {

constexpr Algorithm kAlgorithms[] = {
    {"incumbent", "ours: fewest worthwhile migrations under caps", incumbent_search},
    {"numalb", "NumaLB: load and NUMA-weighted messages", numa_lb},
    {"hierarchicalnumalb", "ours: NumaLB on each level of the machine", hierarchical_numa_lb},
    {"nucolb", "NucoLB: NumaLB with measured latencies", nuco_lb},
    {"hwtopolb", "HwTopoLB: the makespan with message times, by random steps", hw_topo_lb},
    {"greedy", "Greedy: heaviest task to the least loaded core", greedy},
    {"greedyrefine", "GreedyRefine: Greedy that prefers to stay", greedy_refine},
    {"recbipart", "RecBipart: recursive bipartition of the graph", rec_bipart},
    {"metis", "METIS: partition of the graph", metis},
    {"scotch", "Scotch: mapping onto the machine", scotch_map},
    {"scotchremap", "Scotch: remapping with migration costs", scotch_remap},
};

}  // namespace

std::span<const Algorithm> algorithms() {
    return kAlgorithms;
}

const Algorithm& algorithm(std::string_view name) {
    std::string names;
    for (const Algorithm& candidate : kAlgorithms) {
        if (name == candidate.name) return candidate;
        names += std::string(names.empty() ? "" : ", ") + candidate.name;
    }
    throw BalanceError("there is no algorithm " + std::string(name) + ": choose one of " + names);
}

}  // namespace numascape::balance
