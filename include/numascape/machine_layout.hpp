// SPDX-License-Identifier: Apache-2.0
// Layouts made for a machine whose nodes are not alike.
//
//     #include <numascape/machine_layout.hpp>
//     #include <numascape/segmented_vector.hpp>
//
//     int main() {
//         using namespace numascape;
//         const topology machine = topology::of_machine();
//         const segmented_vector<double, layout<weighted>> v{layout_by_cpus(machine), 1000, 1.0};
//         return v.verify().ok() ? 0 : 1;
//     }
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numascape/layout.hpp"
#include "numascape/topology.hpp"

namespace numascape {

// One segment for each node with memory and CPUs, as long as its share of these CPUs, so that equal
// threads have equal parts; without any CPU equal segments on all nodes with memory. Lengths are
// multiples of `grain`. Throws std::length_error beyond 64 nodes.
inline layout<weighted> layout_by_cpus(const topology& machine, std::size_t grain = 1) {
    const std::vector<int> nodes = machine.memory_nodes(true);
    std::vector<std::uint32_t> weights;
    for (const numa_node& node : machine.nodes())
        if (std::find(nodes.begin(), nodes.end(), node.id) != nodes.end())
            weights.push_back(
                std::max<std::uint32_t>(1, static_cast<std::uint32_t>(node.cpus.size())));
    return layout{weighted{std::span<const std::uint32_t>{weights}, grain}}.on(
        node_list{std::span<const int>{nodes}});
}

}  // namespace numascape
