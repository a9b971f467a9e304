// SPDX-License-Identifier: Apache-2.0
//
// The same tasks on whole nodes: each node with cores is one core of their joint speed. Messages
// cost the same on all cores of a node, so a mapping to nodes decides the communication, and only
// balance is left for the cores.
#pragma once

#include <vector>

#include "problem.h"
#include "search_state.h"

namespace numascape::balance {

class NodeProblem {
  public:
    // `of` must outlive it.
    explicit NodeProblem(const Problem& of);
    NodeProblem(const NodeProblem&) = delete;
    NodeProblem& operator=(const NodeProblem&) = delete;

    const Problem& problem() const { return problem_; }
    // The place of a node among those with cores: its core in problem().
    Core place(Node n) const { return place_[n]; }
    Node node(Core c) const { return node_[c]; }
    // A mapping of tasks to cores, as one to nodes.
    Mapping of_cores(const Mapping& mapping) const;
    // A mapping of tasks to nodes, as one to cores. A task keeps its core of `before` if that is on
    // the node, and takes no longer than `longest` with the heavier tasks that keep it. The others
    // go to the least loaded core of their node, the heaviest first.
    Mapping on_cores(const Mapping& nodes, const Mapping& before, double longest) const;

  private:
    Arrays arrays();

    const Problem& of_;
    std::vector<Core> place_;
    std::vector<Node> node_;
    std::vector<double> speed_, background_;
    Mapping home_;
    Problem problem_;
};

}  // namespace numascape::balance
