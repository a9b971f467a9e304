// SPDX-License-Identifier: Apache-2.0
#include "level.h"

#include <algorithm>
#include <numeric>

#include "random.h"

namespace numascape::balance {

namespace {

constexpr Task kNone = ~Task{0};

double weight(const CommunicationGraph& graph, std::uint64_t e) {
    return graph.sent[e] + (graph.received.empty() ? 0.0 : graph.received[e]);
}

// The partner of each item, or itself if it has none.
std::vector<Task> match(const Level& level, double heaviest, bool keep_homes, std::uint64_t seed) {
    std::vector<Task> partner(level.size(), kNone), order(level.size());
    std::iota(order.begin(), order.end(), Task{0});
    Random random(seed);
    shuffle(order, random);
    for (Task t : order) {
        if (partner[t] != kNone) continue;
        partner[t] = t;
        if (level.fixed[t]) continue;
        double best = 0.0;
        for (auto e = level.graph.offsets[t]; e < level.graph.offsets[t + 1]; ++e) {
            const Task u = level.graph.neighbour[e];
            if (partner[u] != kNone || level.fixed[u] || level.load[t] + level.load[u] > heaviest ||
                (keep_homes && level.home[t] != level.home[u])) {
                continue;
            }
            // Of equal partners, prefer light ones, so that groups have similar sizes.
            const double rating = weight(level.graph, e) / (1.0 + double(level.count[u]));
            if (rating > best) best = rating, partner[t] = u;
        }
        partner[partner[t]] = t;
    }
    return partner;
}

void group_graph(const Level& fine, const std::vector<Task>& group, const std::vector<Task>& first,
                 const std::vector<Task>& partner, Level& coarse) {
    const bool directed = !fine.graph.received.empty();
    CommunicationGraph& graph = coarse.graph;
    graph.offsets.assign(first.size() + 1, 0);
    graph.neighbour.reserve(fine.graph.neighbour.size() / 2);
    graph.sent.reserve(fine.graph.neighbour.size() / 2);
    std::vector<std::uint64_t> place(first.size(), ~std::uint64_t{0});
    for (Task g = 0; g < first.size(); ++g) {
        const std::uint64_t begin = graph.neighbour.size();
        const auto add = [&](Task t) {
            for (auto e = fine.graph.offsets[t]; e < fine.graph.offsets[t + 1]; ++e) {
                const Task other = group[fine.graph.neighbour[e]];
                if (other == g) continue;
                // A place below `begin` was noted for another group.
                if (place[other] < begin || place[other] >= graph.neighbour.size() ||
                    graph.neighbour[place[other]] != other) {
                    place[other] = graph.neighbour.size();
                    graph.neighbour.push_back(other);
                    graph.sent.push_back(0.0);
                    if (directed) graph.received.push_back(0.0);
                }
                graph.sent[place[other]] += fine.graph.sent[e];
                if (directed) graph.received[place[other]] += fine.graph.received[e];
            }
        };
        add(first[g]);
        if (partner[first[g]] != first[g]) add(partner[first[g]]);
        graph.offsets[g + 1] = graph.neighbour.size();
    }
}

}  // namespace

Level finest_level(const Problem& problem) {
    Level level;
    level.graph = communication_graph(problem);
    level.home = problem.current();
    for (Task t = 0; t < problem.tasks(); ++t) {
        level.load.push_back(problem.load(t));
        level.memory.push_back(problem.memory(t));
        level.count.push_back(1);
        level.bytes.push_back(problem.migrated_bytes(t));
        level.fixed.push_back(problem.fixed(t));
    }
    return level;
}

std::optional<Coarsening> coarsen(const Level& fine, double heaviest, bool keep_homes,
                                  std::uint64_t seed) {
    const std::vector<Task> partner = match(fine, heaviest, keep_homes, seed);
    Coarsening result;
    result.group.assign(fine.size(), kNone);
    std::vector<Task> first;
    Level& coarse = result.level;
    for (Task t = 0; t < fine.size(); ++t) {
        if (result.group[t] != kNone) continue;
        const Task u = partner[t];
        result.group[t] = result.group[u] = Task(first.size());
        first.push_back(t);
        const bool alone = u == t;
        coarse.load.push_back(fine.load[t] + (alone ? 0.0 : fine.load[u]));
        coarse.memory.push_back(fine.memory[t] + (alone ? 0.0 : fine.memory[u]));
        coarse.count.push_back(fine.count[t] + (alone ? 0 : fine.count[u]));
        coarse.bytes.push_back(fine.bytes[t] + (alone ? 0.0 : fine.bytes[u]));
        coarse.home.push_back(fine.load[u] > fine.load[t] ? fine.home[u] : fine.home[t]);
        coarse.fixed.push_back(fine.fixed[t]);
    }
    if (first.size() > fine.size() - fine.size() / 10) return std::nullopt;
    group_graph(fine, result.group, first, partner, coarse);
    return result;
}

Mapping of_items(const Mapping& of_groups, const std::vector<Task>& group) {
    Mapping mapping(group.size());
    for (Task t = 0; t < group.size(); ++t) mapping[t] = of_groups[group[t]];
    return mapping;
}

GroupProblem::GroupProblem(const Problem& problem, const Level& level)
    : problem_(arrays(problem, level)) {}

Arrays GroupProblem::arrays(const Problem& problem, const Level& level) {
    for (Core c = 0; c < problem.cores(); ++c) {
        core_node_.push_back(problem.node(c));
        speed_.push_back(problem.speed(c));
        background_.push_back(problem.background(c));
    }
    Arrays arrays;
    arrays.load = level.load;
    arrays.core = level.home;
    arrays.fixed = level.fixed;
    arrays.message_offsets = level.graph.offsets;
    arrays.message_to = level.graph.neighbour;
    arrays.message_count = level.graph.sent;
    arrays.core_node = core_node_;
    arrays.speed = speed_;
    arrays.background = background_;
    arrays.factor = problem.arrays().factor;
    return arrays;
}

}  // namespace numascape::balance
