// SPDX-License-Identifier: Apache-2.0
//
// METIS: G. Karypis and V. Kumar, "A fast and high quality multilevel scheme for partitioning
// irregular graphs", SIAM J. Sci. Comput. 20, 1998. As many parts as cores, by recursive bisection
// up to eight parts and k-way beyond, as METIS advises. It ignores NUMA factors and the present
// mapping. If there are fewer than two tasks per core, or if one task is more than two cores'
// share, METIS would print to standard output that it cannot bisect; RecBipart is used instead.
#include <metis.h>

#include <algorithm>
#include <string>

#include "algorithms.h"
#include "partitioner_graph.h"

namespace numascape::balance {

static_assert(sizeof(idx_t) == sizeof(std::int32_t));

Mapping metis(const Problem& problem, const Options& options) {
    PartitionerGraph graph = partitioner_graph(problem);
    if (graph.tasks.empty() || problem.cores() == 1) {
        return from_parts(problem, graph, std::vector<std::int32_t>(graph.tasks.size(), 0),
                          cores_by_node(problem));
    }
    double load = 0.0, heaviest = 0.0;
    for (Task t : graph.tasks) {
        load += problem.load(t);
        heaviest = std::max(heaviest, problem.load(t));
    }
    if (graph.tasks.size() < 2 * problem.cores() ||
        heaviest * double(problem.cores()) > 2.0 * load) {
        return rec_bipart(problem, options);
    }
    idx_t vertices = idx_t(graph.tasks.size()), constraints = 1, parts = idx_t(problem.cores()),
          cut = 0;
    idx_t settings[METIS_NOPTIONS];
    METIS_SetDefaultOptions(settings);
    settings[METIS_OPTION_SEED] = idx_t(options.seed & 0x7fffffff);
    settings[METIS_OPTION_NUMBERING] = 0;
    settings[METIS_OPTION_NITER] = idx_t(options.metis_passes);
    settings[METIS_OPTION_NCUTS] = idx_t(options.metis_cuts);
    std::vector<real_t> shares;
    double speeds = 0.0;
    for (Core c : cores_by_node(problem)) speeds += problem.speed(c);
    for (Core c : cores_by_node(problem)) shares.push_back(real_t(problem.speed(c) / speeds));
    real_t tolerance = real_t(std::max(aimed_imbalance(options), 1.001));
    std::vector<idx_t> part(graph.tasks.size(), 0);
    const auto partition = parts <= 8 ? METIS_PartGraphRecursive : METIS_PartGraphKway;
    const int status =
        partition(&vertices, &constraints, graph.offsets.data(), graph.neighbour.data(),
                  graph.load.data(), nullptr, graph.weight.data(), &parts, shares.data(),
                  &tolerance, settings, &cut, part.data());
    if (status != METIS_OK) {
        throw BalanceError("METIS failed with status " + std::to_string(status));
    }
    return from_parts(problem, graph, part, cores_by_node(problem));
}

}  // namespace numascape::balance
