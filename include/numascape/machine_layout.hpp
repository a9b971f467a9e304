// SPDX-License-Identifier: Apache-2.0
// Layouts for a machine with different nodes: this machine, or a described one
// (machine_document.hpp).
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
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "numascape/layout.hpp"
#include "numascape/topology.hpp"

namespace numascape {

namespace detail {

// One segment on each of the nodes, with a length in proportion to weight(node), which is above 0,
// or 0 if unknown; `quantity` is the name of the weight.
template <class Weight>
layout<weighted> layout_by(const topology& machine, bool with_cpus, std::size_t grain,
                           const char* quantity, Weight weight) {
    const std::vector<int> nodes = machine.memory_nodes(with_cpus);
    std::vector<double> shares;
    for (const int id : nodes) {
        const auto at = std::find_if(machine.nodes().begin(), machine.nodes().end(),
                                     [&](const numa_node& node) { return node.id == id; });
        shares.push_back(static_cast<double>(weight(*at)));
        if (!(shares.back() > 0))
            throw std::invalid_argument{std::string{"the "} + quantity + " of node " +
                                        std::to_string(id) + " is unknown"};
    }
    // Small integers stay exact; other weights are exact to a millionth of the largest one.
    const double largest = shares.empty() ? 1 : *std::max_element(shares.begin(), shares.end());
    const bool small = largest <= 1e6 && std::all_of(shares.begin(), shares.end(),
                                                     [](double s) { return s == std::floor(s); });
    std::vector<std::uint32_t> weights;
    for (const double share : shares) {
        const double scaled = small ? share : std::max(1.0, std::round(share / largest * 1e6));
        weights.push_back(static_cast<std::uint32_t>(scaled));
    }
    std::uint32_t divisor = 0;
    for (const std::uint32_t each : weights) divisor = std::gcd(divisor, each);
    for (std::uint32_t& each : weights) each /= divisor;
    return layout{weighted{std::span<const std::uint32_t>{weights}, grain}}.on(
        node_list{std::span<const int>{nodes}});
}

}  // namespace detail

// All of these functions make lengths that are multiples of `grain`, and throw std::length_error
// beyond 64 nodes.

// One segment for each node with memory and CPUs, in proportion to its number of CPUs, so that all
// threads have equal parts. If no node has CPUs, equal segments on all nodes with memory.
inline layout<weighted> layout_by_cpus(const topology& machine, std::size_t grain = 1) {
    return detail::layout_by(machine, true, grain, "number of CPUs", [](const numa_node& node) {
        return std::max<std::size_t>(1, node.cpus.size());
    });
}

// One segment for each node with memory, in proportion to its memory, so that no node is full
// before the others. Throws std::invalid_argument if a node's memory is unknown.
inline layout<weighted> layout_by_memory(const topology& machine, std::size_t grain = 1) {
    return detail::layout_by(machine, false, grain, "memory",
                             [](const numa_node& node) { return node.memory_bytes; });
}

// One segment for each node with memory, in proportion to its bandwidth, so that reading takes the
// same time on each node; also for memory of different kinds (DRAM, HBM, CXL). Throws
// std::invalid_argument if a node's bandwidth is unknown: measure it with `numascape machine
// probe`.
inline layout<weighted> layout_by_bandwidth(const topology& machine, std::size_t grain = 1) {
    return detail::layout_by(machine, false, grain, "bandwidth",
                             [](const numa_node& node) { return node.bandwidth; });
}

}  // namespace numascape
