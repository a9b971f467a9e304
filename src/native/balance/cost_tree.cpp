// SPDX-License-Identifier: Apache-2.0
#include "cost_tree.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace numascape::balance {

namespace {

// Costs that differ by less than this factor are of one level: measurements of one cost differ that
// much.
constexpr double kOneLevel = 1.1;
// The largest number of levels of nodes. Further ones join the coarsest. A machine has about five.
constexpr std::size_t kMaxLevels = 12;

double between(const Problem& problem, Node i, Node j) {
    return (problem.factor(i, j) + problem.factor(j, i)) / 2.0;
}

std::vector<Node> nodes_with_cores(const Problem& problem) {
    std::vector<Node> nodes;
    for (Node n = 0; n < problem.nodes(); ++n) {
        if (!problem.cores_of(n).empty()) nodes.push_back(n);
    }
    return nodes;
}

// Visits pairs of places in `nodes`: all pairs of nodes with one row of factors, and one pair for
// every two rows, because all pairs of nodes of these have the same factors.
template <typename Visit>
void visit_pairs(const Problem& problem, const std::vector<Node>& nodes, Visit&& visit) {
    std::vector<std::vector<std::uint32_t>> rows(problem.factors().rows());
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        rows[problem.factors().row(nodes[i])].push_back(i);
    }
    std::erase_if(rows, [](const auto& row) { return row.empty(); });
    for (std::size_t a = 0; a < rows.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) visit(rows[a][0], rows[b][0]);
        for (std::size_t i = 0; i < rows[a].size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) visit(rows[a][i], rows[a][j]);
        }
    }
}

// The largest cost of each level of nodes, the smallest first.
std::vector<double> bounds(const Problem& problem, const std::vector<Node>& nodes) {
    std::set<double> costs;
    double last = -1.0;
    visit_pairs(problem, nodes, [&](std::uint32_t a, std::uint32_t b) {
        const double cost = between(problem, nodes[a], nodes[b]);
        if (cost == last) return;
        // Measured costs are all different: steps of a thousandth keep the set small.
        last = cost;
        const double step = std::ceil(std::log(cost) * 1000.0) / 1000.0;
        costs.insert(cost > 0.0 ? std::exp(step) * (1.0 + 1e-12) : 0.0);
    });
    std::vector<double> found;
    for (double cost : costs) {
        if (!found.empty() && cost <= found.back() * kOneLevel) {
            found.back() = cost;
        } else {
            found.push_back(cost);
        }
    }
    if (found.size() > kMaxLevels) {
        found.erase(found.begin() + kMaxLevels - 1, found.end() - 1);
    }
    return found;
}

class Sets {
  public:
    explicit Sets(std::size_t size) : parent_(size) {
        std::iota(parent_.begin(), parent_.end(), 0U);
    }
    std::uint32_t find(std::uint32_t i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    // The smaller number represents the joined set.
    void join(std::uint32_t a, std::uint32_t b) {
        a = find(a), b = find(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

  private:
    std::vector<std::uint32_t> parent_;
};

}  // namespace

CostTree::CostTree(const Problem& problem) {
    const std::vector<Node> nodes = nodes_with_cores(problem);
    std::vector<std::uint32_t> place(problem.nodes());
    for (std::size_t i = 0; i < nodes.size(); ++i) place[nodes[i]] = std::uint32_t(i);
    const std::vector<double> limits = bounds(problem, nodes);
    // The groups of cores on each level of nodes, from the finest, which is that of nodes.
    std::vector<std::vector<std::uint32_t>> groupings;
    Sets sets(nodes.size());
    std::size_t before = 0;
    for (std::size_t level = 0; level <= limits.size(); ++level) {
        std::vector<std::uint32_t> group(problem.cores());
        std::set<std::uint32_t> different;
        for (Core c = 0; c < problem.cores(); ++c) {
            group[c] = sets.find(place[problem.node(c)]);
            different.insert(group[c]);
        }
        if (different.size() == 1) break;
        if (different.size() != before) groupings.push_back(std::move(group));
        before = different.size();
        if (level == limits.size()) break;
        visit_pairs(problem, nodes, [&](std::uint32_t a, std::uint32_t b) {
            if (between(problem, nodes[a], nodes[b]) <= limits[level]) sets.join(a, b);
        });
    }
    for (std::size_t i = groupings.size(); i-- > 0;) add_level(problem, groupings[i]);
    if (nodes.size() == problem.cores() && !levels_.empty()) return;  // each node is one core
    std::vector<std::uint32_t> cores(problem.cores());
    std::iota(cores.begin(), cores.end(), 0U);
    add_level(problem, cores);
}

void CostTree::add_level(const Problem& problem, const std::vector<std::uint32_t>& group_of_core) {
    const Level* above = levels_.empty() ? nullptr : &levels_.back();
    const auto above_of = [&](Core c) { return above ? above->group_of_core[c] : 0U; };
    // Groups are numbered in the order of the groups above, and then of their cores.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> number;
    for (Core c = 0; c < problem.cores(); ++c)
        number.try_emplace({above_of(c), group_of_core[c]}, 0);
    Level level;
    std::vector<Core> first;
    for (auto& [key, group] : number) {
        group = std::uint32_t(level.parent.size());
        const bool same = group > 0 && level.parent.back() == key.first;
        level.place.push_back(same ? level.place.back() + 1 : 0);
        level.parent.push_back(key.first);
    }
    first.resize(level.groups());
    level.group_of_core.resize(problem.cores());
    for (Core c = Core(problem.cores()); c-- > 0;) {
        level.group_of_core[c] = number[{above_of(c), group_of_core[c]}];
        first[level.group_of_core[c]] = c;
    }
    double sum = 0.0, pairs = 0.0, smallest = INFINITY, largest = 0.0;
    for (std::size_t a = 0; a < first.size(); ++a) {
        for (std::size_t b = a; b-- > 0 && level.parent[b] == level.parent[a];) {
            const double cost = between(problem, problem.node(first[a]), problem.node(first[b]));
            sum += cost, pairs += 1.0;
            smallest = std::min(smallest, cost), largest = std::max(largest, cost);
        }
    }
    if (pairs > 0.0) {
        level.cost = sum / pairs;
        level.one_cost = largest <= smallest * (1.0 + 1e-9);
    }
    levels_.push_back(std::move(level));
}

std::vector<Core> CostTree::cores() const {
    const std::vector<std::uint32_t>& number = levels_.back().group_of_core;
    std::vector<Core> cores(number.size());
    for (Core c = 0; c < number.size(); ++c) cores[number[c]] = c;
    return cores;
}

bool CostTree::regular() const {
    std::size_t above = 1;
    for (const Level& level : levels_) {
        if (level.groups() % above != 0) return false;
        for (std::size_t g = 0; g < level.groups(); ++g) {
            if (level.parent[g] != g / (level.groups() / above)) return false;
        }
        above = level.groups();
    }
    return true;
}

bool CostTree::one_cost_per_level() const {
    return std::ranges::all_of(levels_, [](const Level& level) { return level.one_cost; });
}

}  // namespace numascape::balance
