// SPDX-License-Identifier: Apache-2.0
#include "relabel.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "assignment.h"

namespace numascape::balance {

namespace {

// The maximum number of steps of all optimal assignments together: about ten seconds. Beyond it,
// cores within nodes are assigned greedily. If a node has more than kMaxCores cores, they are not
// exchanged.
constexpr double kMaxSteps = 4e9;
constexpr std::size_t kMaxCores = 4096;

class Relabelling {
  public:
    Relabelling(const Problem& problem, const Mapping& mapping)
        : problem_(problem), mapping_(mapping), pinned_(problem.cores(), false) {
        for (Task t = 0; t < problem.tasks(); ++t) {
            if (problem.fixed(t)) pinned_[problem.core(t)] = true;
            ++common_[key(mapping[t], problem.core(t))];
        }
    }

    Mapping run() {
        std::vector<Core> label(problem_.cores());
        for (Core c = 0; c < label.size(); ++c) label[c] = c;
        for (const std::vector<Node>& alike : interchangeable_nodes()) exchange_nodes(alike, label);
        Mapping result = mapping_;
        for (Core& core : result) core = label[core];
        return result;
    }

  private:
    static std::uint64_t key(Core from, Core to) { return (std::uint64_t{from} << 32) | to; }
    // Tasks that are on `part` in the mapping and now on `core`.
    double common(Core part, Core core) const {
        const auto found = common_.find(key(part, core));
        return found == common_.end() ? 0.0 : double(found->second);
    }
    bool alike(Core a, Core b) const {
        return problem_.speed(a) == problem_.speed(b) &&
               problem_.background(a) == problem_.background(b) &&
               problem_.core_memory(a) == problem_.core_memory(b) &&
               problem_.core_memory_taken(a) == problem_.core_memory_taken(b) && !pinned_[a] &&
               !pinned_[b];
    }
    bool interchangeable(Node a, Node b) const {
        const auto first = problem_.cores_of(a), second = problem_.cores_of(b);
        if (first.size() != second.size() || problem_.node_memory(a) != problem_.node_memory(b)) {
            return false;
        }
        for (std::size_t i = 0; i < first.size(); ++i) {
            if (!alike(first[i], second[i]) || !alike(first[i], first[0])) return false;
        }
        // Neighbours by number come first: they are near, so they tell most nodes apart at once.
        const std::size_t nodes = problem_.nodes();
        for (std::size_t step = 1; step < nodes; ++step) {
            const Node n = Node((a + step) % nodes);
            if (n == b) continue;
            if (problem_.factor(a, n) != problem_.factor(b, n)) return false;
            // Columns of a large matrix are slow to read.
            if (problem_.factors().symmetric()) continue;
            if (problem_.factor(n, a) != problem_.factor(n, b)) return false;
        }
        return problem_.factor(a, a) == problem_.factor(b, b) &&
               problem_.factor(a, b) == problem_.factor(b, a);
    }
    // Exchangeability is transitive, so the first of a group represents it.
    std::vector<std::vector<Node>> interchangeable_nodes() const {
        std::vector<std::vector<Node>> groups;
        std::unordered_map<std::uint64_t, std::vector<std::size_t>> candidates;
        for (Node n = 0; n < problem_.nodes(); ++n) {
            std::vector<std::size_t>& near = candidates[problem_.factors().neighbourhood(n)];
            const auto group = std::find_if(near.begin(), near.end(), [&](std::size_t g) {
                return groups[g].size() < kMaxCores && interchangeable(groups[g][0], n);
            });
            if (group == near.end()) {
                near.push_back(groups.size());
                groups.push_back({n});
            } else {
                groups[*group].push_back(n);
            }
        }
        return groups;
    }

    // If the parts of node `from` go to node `to`: how many tasks stay, and the core of each part.
    std::pair<double, std::vector<Core>> fit(Node from, Node to) const {
        const auto parts = problem_.cores_of(from), cores = problem_.cores_of(to);
        const std::size_t size = parts.size();
        std::vector<Core> onto(cores.begin(), cores.end());
        double stay = 0.0;
        if (size <= kMaxCores) {
            std::vector<double> values(size * size);
            for (std::size_t i = 0; i < size; ++i) {
                for (std::size_t j = 0; j < size; ++j) {
                    // Cores of different kinds are never exchanged.
                    const bool may = from != to || i == j || alike(parts[i], parts[j]);
                    values[i * size + j] = may ? common(parts[i], cores[j]) : -1e12;
                }
            }
            const double pairs = double(problem_.nodes()) * double(problem_.nodes());
            const bool quick = pairs * double(size * size * size) > kMaxSteps;
            const auto columns =
                quick ? greedy_assignment(values, size) : best_assignment(values, size);
            for (std::size_t i = 0; i < size; ++i) onto[i] = cores[columns[i]];
        }
        for (std::size_t i = 0; i < size; ++i) stay += common(parts[i], onto[i]);
        return {stay, onto};
    }

    void exchange_nodes(const std::vector<Node>& nodes, std::vector<Core>& label) const {
        const std::size_t size = nodes.size();
        std::vector<double> values(size * size);
        std::vector<std::vector<Core>> onto(size * size);
        for (std::size_t i = 0; i < size; ++i) {
            for (std::size_t j = 0; j < size; ++j) {
                std::tie(values[i * size + j], onto[i * size + j]) = fit(nodes[i], nodes[j]);
            }
        }
        const auto columns = best_assignment(values, size);
        for (std::size_t i = 0; i < size; ++i) {
            const auto parts = problem_.cores_of(nodes[i]);
            const auto& targets = onto[i * size + columns[i]];
            for (std::size_t k = 0; k < parts.size(); ++k) label[parts[k]] = targets[k];
        }
    }

    const Problem& problem_;
    const Mapping& mapping_;
    std::vector<bool> pinned_;
    std::unordered_map<std::uint64_t, std::uint32_t> common_;
};

}  // namespace

Mapping relabel(const Problem& problem, const Mapping& mapping) {
    return Relabelling(problem, mapping).run();
}

}  // namespace numascape::balance
