// SPDX-License-Identifier: Apache-2.0
// Finds the slot that is nearest to a thread, for replicated and per_node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "numascape/layout.hpp"
#include "numascape/topology.hpp"

namespace numascape::detail {

class node_slots {
  public:
    // One slot per node; by default for each node of the machine with memory and CPUs.
    explicit node_slots(const node_list& nodes) {
        const topology machine = topology::of_machine();
        nodes_.assign(nodes.begin(), nodes.end());
        if (nodes_.empty()) nodes_ = machine.memory_nodes(true);
        if (nodes_.size() > node_list::capacity) nodes_.resize(node_list::capacity);
        for (const numa_node& node : machine.nodes()) {
            const auto id = static_cast<std::size_t>(node.id);
            if (id >= nearest_.size()) nearest_.resize(id + 1, 0);
            nearest_[id] = static_cast<std::uint8_t>(machine.nearest(node.id, nodes_));
        }
    }

    std::span<const int> nodes() const noexcept { return nodes_; }
    std::size_t size() const noexcept { return nodes_.size(); }

    // The slot nearest to the CPU that the calling thread is on.
    std::size_t near() const noexcept {
        const auto node = static_cast<std::size_t>(current_node());
        return node < nearest_.size() ? nearest_[node] : 0;
    }
    // The slot of a node. Throws std::out_of_range.
    std::size_t of(int node) const {
        const auto found = std::find(nodes_.begin(), nodes_.end(), node);
        if (found == nodes_.end())
            throw std::out_of_range{"nothing is on node " + std::to_string(node)};
        return static_cast<std::size_t>(found - nodes_.begin());
    }

    // One segment of `n` elements for each slot.
    auto extents(std::size_t n, std::size_t element_bytes, std::size_t alignment,
                 page_size page) const {
        if (n > (std::size_t{1} << 62) / element_bytes / size())
            throw std::length_error{"the copies are larger than the address space"};
        return placement(page).extents(n * size(), element_bytes, alignment, system::page_bytes());
    }
    std::size_t granule(std::size_t alignment, page_size page) const {
        return placement(page).granule(alignment, system::page_bytes());
    }

  private:
    layout<block> placement(page_size page) const {
        return layout{block{size()}}.on(node_list{nodes()}).pages(page);
    }

    std::vector<int> nodes_;
    std::vector<std::uint8_t> nearest_;  // by the number of a node: the nearest slot
};

}  // namespace numascape::detail
