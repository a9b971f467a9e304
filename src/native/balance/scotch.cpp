// SPDX-License-Identifier: Apache-2.0
//
// Scotch: F. Pellegrini and J. Roman, "SCOTCH: a software package for static mapping by dual
// recursive bipartitioning of process and architecture graphs", HPCN 1996; remapping: S. Fourestier
// and F. Pellegrini, "Adaptation au repartitionnement de graphes d'une methode d'optimisation
// globale par diffusion", RenPar 2011. The target architecture is the machine: a tree of its
// levels (cost_tree.h), else the graph of all cores with their distances.
#include <cstdint>
#include <cstdio>
// scotch.h uses FILE and integers of fixed size without including their headers.
#include <scotch.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>

#include "algorithms.h"
#include "cost_tree.h"
#include "partitioner_graph.h"

// Scotch reports errors through functions that the program may replace; its own functions print, or
// end the process. Here, errors are returned as a status.
extern "C" {
void SCOTCH_errorProg(const char*) {}
void SCOTCH_errorPrint(const char*, ...) {}
void SCOTCH_errorPrintW(const char*, ...) {}
}

namespace numascape::balance {

namespace {

static_assert(sizeof(SCOTCH_Num) == sizeof(std::int32_t));

// Scotch's distances are integers: this is the distance within a node, to be multiplied by the NUMA
// factor.
constexpr double kStep = 100.0;
// A machine needs the square of its number of cores as distances.
constexpr std::size_t kMaxCoresOfGraph = 512;

void expect(int status, const char* what) {
    if (status != 0) throw BalanceError(std::string("Scotch cannot ") + what);
}

struct Graph {
    Graph() { expect(SCOTCH_graphInit(&it), "begin a graph"); }
    ~Graph() { SCOTCH_graphExit(&it); }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    SCOTCH_Graph it;
};

// The description of a machine uses random numbers that all callers share.
std::mutex shared_random;

// Without a context, Scotch starts a thread for each core, and their order changes the result.
struct Context {
    explicit Context(std::uint64_t seed) {
        SCOTCH_randomSeed(SCOTCH_Num(seed & 0x7fffffff));
        SCOTCH_randomReset();
        expect(SCOTCH_contextInit(&it), "begin a context");
        expect(SCOTCH_contextOptionSetNum(&it, SCOTCH_OPTIONNUMDETERMINISTIC, 1), "be repeatable");
        expect(SCOTCH_contextRandomClone(&it), "have random numbers of its own");
        SCOTCH_contextRandomSeed(&it, SCOTCH_Num(seed & 0x7fffffff));
        SCOTCH_contextRandomReset(&it);
        expect(SCOTCH_contextThreadSpawn(&it, 1, nullptr), "use one thread");
    }
    ~Context() { SCOTCH_contextExit(&it); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    SCOTCH_Context it;
};

// If Scotch 7.0.3 remaps, its refinement of all parts (kgraphMapFm) reads freed memory and damages
// the heap. Remapping therefore uses only recursive bipartitioning, whose mappings are equally
// good.
struct Strategy {
    Strategy(const Options& options, std::size_t parts, bool remap) {
        expect(SCOTCH_stratInit(&it), "begin a strategy");
        const double beyond = std::max(aimed_imbalance(options) - 1.0, 0.001);
        const SCOTCH_Num flags = SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE |
                                 (remap || options.scotch_recursive ? SCOTCH_STRATRECURSIVE : 0);
        expect(SCOTCH_stratGraphMapBuild(&it, flags, SCOTCH_Num(parts), beyond),
               "build a strategy");
    }
    ~Strategy() { SCOTCH_stratExit(&it); }
    Strategy(const Strategy&) = delete;
    Strategy& operator=(const Strategy&) = delete;
    SCOTCH_Strat it;
};

// The machine for Scotch. If each level of the machine has one cost, it is a tree of the levels.
// Otherwise it is the distances of all pairs of cores; if there are too many cores for that, it is
// a tree with the mean cost of each level. `cores()` are the cores in the order of its parts.
class Architecture {
  public:
    explicit Architecture(const Problem& problem) : cores_(cores_by_node(problem)) {
        expect(SCOTCH_archInit(&it), "begin an architecture");
        const CostTree tree(problem);
        const bool small = problem.cores() <= kMaxCoresOfGraph;
        if (tree.regular() && (tree.one_cost_per_level() || !small)) {
            cores_ = tree.cores();
            from_levels(tree);
        } else {
            from_distances(problem);
        }
    }
    ~Architecture() { SCOTCH_archExit(&it); }
    Architecture(const Architecture&) = delete;
    Architecture& operator=(const Architecture&) = delete;
    SCOTCH_Arch it;

    const std::vector<Core>& cores() const { return cores_; }

  private:
    void from_levels(const CostTree& tree) {
        std::vector<SCOTCH_Num> sizes, links;
        std::size_t above = 1;
        for (const CostTree::Level& level : tree.levels()) {
            sizes.push_back(SCOTCH_Num(level.groups() / above));
            const double cost = std::min(kStep * level.cost, 1e6);
            links.push_back(std::max<SCOTCH_Num>(1, SCOTCH_Num(std::lround(cost))));
            above = level.groups();
        }
        if (sizes.size() == 1) {
            expect(SCOTCH_archCmplt(&it, sizes[0]), "describe the machine");
        } else {
            expect(SCOTCH_archTleaf(&it, SCOTCH_Num(sizes.size()), sizes.data(), links.data()),
                   "describe the machine");
        }
    }

    void from_distances(const Problem& problem) {
        const SCOTCH_Num size = SCOTCH_Num(cores_.size());
        if (cores_.size() > kMaxCoresOfGraph) {
            expect(SCOTCH_archCmplt(&it, size), "describe the machine");
            return;
        }
        std::vector<SCOTCH_Num> offsets, neighbour, distance;
        for (SCOTCH_Num i = 0; i < size; ++i) {
            offsets.push_back(SCOTCH_Num(neighbour.size()));
            for (SCOTCH_Num j = 0; j < size; ++j) {
                if (i == j) continue;
                const Node a = problem.node(cores_[std::size_t(i)]);
                const Node b = problem.node(cores_[std::size_t(j)]);
                const double mean = (problem.factor(a, b) + problem.factor(b, a)) / 2;
                neighbour.push_back(j);
                distance.push_back(
                    std::max<SCOTCH_Num>(1, SCOTCH_Num(std::min(kStep * mean, 1e6))));
            }
        }
        offsets.push_back(SCOTCH_Num(neighbour.size()));
        Graph graph;
        expect(SCOTCH_graphBuild(&graph.it, 0, size, offsets.data(), nullptr, nullptr, nullptr,
                                 SCOTCH_Num(neighbour.size()), neighbour.data(), distance.data()),
               "take the machine's distances");
        SCOTCH_Strat plain;
        expect(SCOTCH_stratInit(&plain), "begin a strategy");
        const int status = SCOTCH_archBuild0(&it, &graph.it, 0, nullptr, &plain);
        SCOTCH_stratExit(&plain);
        expect(status, "describe the machine");
    }

    std::vector<Core> cores_;
};

// The cost of a migration in the units of the graph's edges: as in the incumbent-aware search, the
// mean communication of a task.
double migration_cost(const PartitionerGraph& graph) {
    double sum = 0.0;
    for (std::int32_t weight : graph.weight) sum += weight;
    return std::max(1.0, sum / double(std::max<std::size_t>(1, graph.tasks.size())));
}

Mapping run(const Problem& problem, const Options& options, bool remap) {
    PartitionerGraph graph = partitioner_graph(problem);
    std::vector<SCOTCH_Num> part(graph.tasks.size(), 0);
    if (graph.tasks.empty() || problem.cores() == 1) {
        return from_parts(problem, graph, part, cores_by_node(problem));
    }

    const std::lock_guard lock(shared_random);
    Context context(options.seed);
    Graph tasks, bound;
    expect(
        SCOTCH_graphBuild(&tasks.it, 0, SCOTCH_Num(graph.tasks.size()), graph.offsets.data(),
                          nullptr, graph.load.data(), nullptr, SCOTCH_Num(graph.neighbour.size()),
                          graph.neighbour.data(), graph.weight.data()),
        "take the graph");
    expect(SCOTCH_contextBindGraph(&context.it, &tasks.it, &bound.it), "bind the graph");
    Architecture machine(problem);
    Strategy strategy(options, problem.cores(), remap);
    if (!remap) {
        expect(SCOTCH_graphMap(&bound.it, &machine.it, &strategy.it, part.data()), "map the graph");
        return from_parts(problem, graph, part, machine.cores());
    }
    std::vector<SCOTCH_Num> place(problem.cores());
    const std::vector<Core>& cores = machine.cores();
    for (std::size_t i = 0; i < cores.size(); ++i) place[cores[i]] = SCOTCH_Num(i);
    std::vector<SCOTCH_Num> former(graph.tasks.size(), -1), price(graph.tasks.size(), 1);
    for (std::size_t v = 0; v < graph.tasks.size(); ++v) {
        former[v] = place[problem.core(graph.tasks[v])];
    }
    expect(SCOTCH_graphRemap(&bound.it, &machine.it, former.data(), migration_cost(graph),
                             price.data(), &strategy.it, part.data()),
           "remap the graph");
    return from_parts(problem, graph, part, machine.cores());
}

}  // namespace

Mapping scotch_map(const Problem& problem, const Options& options) {
    return run(problem, options, false);
}

Mapping scotch_remap(const Problem& problem, const Options& options) {
    return run(problem, options, true);
}

}  // namespace numascape::balance
