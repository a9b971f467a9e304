// SPDX-License-Identifier: Apache-2.0
//
// The communication of pairs of tasks, with both directions together, and its cost on each node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem.h"

namespace numascape::balance {

// Each pair of tasks appears at both of its tasks, once. Messages of a task to itself are left out:
// they cost the same wherever it is.
struct CommunicationGraph {
    std::vector<std::uint64_t> offsets;  // one per task, and the end
    std::vector<Task> neighbour;
    // Costs of messages to and from the neighbour within one node. If directions do not matter,
    // `received` is empty, and `sent` is the cost of both.
    std::vector<double> sent;
    std::vector<double> received;

    std::size_t tasks() const { return offsets.size() - 1; }
};

// Whether tasks have few neighbours, as in meshes: at most six on average. `entries` counts each
// pair at both of its tasks. In such graphs, a few tasks separate large parts. Minimum cuts and
// Scotch then take less time, and give better results.
inline bool few_neighbours(std::uint64_t entries, std::size_t tasks) {
    return entries <= 6 * std::uint64_t(tasks);
}
inline bool few_neighbours(const CommunicationGraph& graph) {
    return few_neighbours(graph.neighbour.size(), graph.tasks());
}

// Directions matter when some factor (i, j) is not factor (j, i).
CommunicationGraph communication_graph(const Problem& problem);

// The communication cost of a task on each node, given where its neighbours are. Only differences
// between nodes have a meaning: with one factor, a node without neighbours has cost 0.
class NodeCosts {
  public:
    // `problem` must outlive this object.
    explicit NodeCosts(const Problem& problem);
    // node_of(task) -> Node. Valid until the next call. The time is proportional to the number of
    // neighbours if there is one factor, otherwise to this number times the number of rows of the
    // factors, plus the number of nodes.
    template <typename NodeOf>
    const std::vector<double>& of(const CommunicationGraph& graph, Task t, NodeOf&& node_of);
    // The nodes of the neighbours in the last call of of(). If near_is_cheaper(), the task costs
    // less on each of them than on any other node, and the same on all others.
    const std::vector<Node>& near() const { return touched_; }
    bool near_is_cheaper() const { return one_factor_ > diagonal_; }
    // Calls look(nodes) for the nodes of each row of factors: the rows of neighbours first, and
    // then those others with worthwhile(cost of the task there), which is the same on all nodes of
    // such a row. If the factors are a matrix, this is one call with all nodes.
    template <typename Look, typename Worthwhile>
    void near_first(Look&& look, Worthwhile&& worthwhile);

  private:
    void add_up();
    const Factors& factors_;
    FactorSums sums_;
    double one_factor_;  // between any two different nodes, with one diagonal_; < 0: several
    double diagonal_;
    std::vector<double> sent_, received_, costs_;
    std::vector<Node> touched_, nodes_of_neighbours_;
    std::vector<std::uint8_t> is_touched_, is_near_row_;
    std::vector<Node> all_;
};

template <typename Look, typename Worthwhile>
void NodeCosts::near_first(Look&& look, Worthwhile&& worthwhile) {
    if (factors_.is_matrix()) {
        look(std::span<const Node>(all_));
        return;
    }
    for (std::uint32_t row : sums_.near_rows()) {
        is_near_row_[row] = 1;
        look(factors_.nodes_of_row(row));
    }
    const std::vector<double>& cost = sums_.cost_of_row();
    for (std::uint32_t row = 0; row < factors_.rows(); ++row) {
        if (!is_near_row_[row] && worthwhile(cost[row])) look(factors_.nodes_of_row(row));
    }
    for (std::uint32_t row : sums_.near_rows()) is_near_row_[row] = 0;
}

template <typename NodeOf>
const std::vector<double>& NodeCosts::of(const CommunicationGraph& graph, Task t,
                                         NodeOf&& node_of) {
    if (one_factor_ >= 0.0) {
        for (Node n : touched_) costs_[n] = 0.0;
    }
    touched_.clear();
    const bool directed = !graph.received.empty();
    const auto first = graph.offsets[t], end = graph.offsets[t + 1];
    // A separate loop, so that the processor reads the nodes of many neighbours at the same time.
    nodes_of_neighbours_.resize(end - first);
    for (auto e = first; e < end; ++e)
        nodes_of_neighbours_[e - first] = node_of(graph.neighbour[e]);
    for (auto e = first; e < end; ++e) {
        const Node n = nodes_of_neighbours_[e - first];
        if (!is_touched_[n]) {
            is_touched_[n] = 1;
            touched_.push_back(n);
        }
        sent_[n] += graph.sent[e];
        if (directed) received_[n] += graph.received[e];
    }
    add_up();
    return costs_;
}

}  // namespace numascape::balance
