// SPDX-License-Identifier: Apache-2.0
// A short list of node numbers; can be a constant expression.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <stdexcept>

namespace numascape {

class node_list {
  public:
    static constexpr std::size_t capacity = 64;

    constexpr node_list() = default;
    constexpr node_list(std::initializer_list<int> nodes)
        : node_list{std::span<const int>{nodes.begin(), nodes.size()}} {}

    // Throws std::length_error beyond `capacity`, std::invalid_argument for a negative number.
    constexpr explicit node_list(std::span<const int> nodes) {
        if (nodes.size() > capacity) throw std::length_error{"a layout has at most 64 nodes"};
        for (const int node : nodes) {
            if (node < 0) throw std::invalid_argument{"a node's number must not be negative"};
            ids_[count_++] = node;
        }
    }

    constexpr std::size_t size() const noexcept { return count_; }
    constexpr bool empty() const noexcept { return count_ == 0; }
    constexpr int operator[](std::size_t i) const noexcept { return ids_[i]; }
    constexpr const int* begin() const noexcept { return ids_.data(); }
    constexpr const int* end() const noexcept { return ids_.data() + count_; }

    bool operator==(const node_list&) const = default;

  private:
    std::array<int, capacity> ids_{};
    std::size_t count_ = 0;
};

}  // namespace numascape
