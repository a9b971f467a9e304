// SPDX-License-Identifier: Apache-2.0
// Where elements go: a value that can be computed, printed and compared without any memory.
//
//     #include <numascape/layout.hpp>
//     #include <cstdio>
//
//     int main() {
//         using namespace numascape;
//         constexpr auto where = layout{block{8}}.on({0, 1, 2, 3}).pages(page_size::mib2);
//         static_assert(where.segments(1000) == 8 && where.node(2, 1000) == 1);
//         std::printf("%s", where.describe(1'000'000, sizeof(double)).c_str());
//     }
//
// A layout has three parts: the distribution of elements over segments (distribution.hpp), the node
// of each segment, and the shape in memory (page size, padding, offset).
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "numascape/distribution.hpp"
#include "numascape/node_list.hpp"
#include "numascape/page_memory.hpp"

namespace numascape {

// Where one segment lies: elements [index, index + size), whose first is `offset` bytes from the
// start of the reservation; the pages [region, region + region_bytes) are the segment's own.
struct segment_extent {
    std::size_t index = 0;
    std::size_t size = 0;
    std::size_t region = 0;
    std::size_t region_bytes = 0;
    std::size_t offset = 0;
    int node = 0;

    bool operator==(const segment_extent&) const = default;
};

// How segments get their nodes: in equal groups (segments 0, 1 on the first of two nodes, 2, 3 on
// the second) or round-robin.
enum class node_order { grouped, cyclic };

template <distribution Distribution = block>
class layout {
  public:
    constexpr layout() = default;
    constexpr explicit layout(Distribution distribution) : distribution_{distribution} {}

    // The nodes, in the order in which segments get them. If there are none, a container uses the
    // nodes of the machine that have memory and CPUs.
    constexpr layout on(node_list nodes) const {
        layout result = *this;
        result.nodes_ = nodes;
        return result;
    }
    constexpr layout ordered(node_order order) const {
        layout result = *this;
        result.order_ = order;
        return result;
    }
    constexpr layout pages(page_size page) const {
        layout result = *this;
        result.page_ = page;
        return result;
    }
    // Bytes left unused between segments, rounded up to pages.
    constexpr layout padded(std::size_t bytes) const {
        layout result = *this;
        result.padding_ = bytes;
        return result;
    }
    // Segment k starts k times this many bytes into its first page (modulo the page), so that equal
    // positions of different segments do not meet in one cache set or memory controller. Rounded
    // up to the elements' alignment.
    constexpr layout staggered(std::size_t bytes) const {
        layout result = *this;
        result.stagger_ = bytes;
        return result;
    }
    // Pages go to the node of the worker that constructs the segment (first touch), instead of to
    // the layout's node by policy.
    constexpr layout first_touched() const {
        layout result = *this;
        result.placing_ = placing::first_touch;
        return result;
    }
    constexpr layout when_node_is_full(when_full full) const {
        layout result = *this;
        result.full_ = full;
        return result;
    }

    constexpr const Distribution& distribution() const noexcept { return distribution_; }
    constexpr const node_list& nodes() const noexcept { return nodes_; }
    constexpr node_order order() const noexcept { return order_; }
    constexpr page_size page() const noexcept { return page_; }
    constexpr std::size_t padding() const noexcept { return padding_; }
    constexpr std::size_t stagger() const noexcept { return stagger_; }
    constexpr enum placing placing() const noexcept { return placing_; }
    constexpr when_full full() const noexcept { return full_; }

    // For `n` elements: the number of segments, the first element of segment k (n if k is
    // segments(n)), and the node of segment k.
    constexpr std::size_t segments(std::size_t n) const {
        return distribution_.segments(n, nodes_.size());
    }
    constexpr std::size_t first(std::size_t k, std::size_t n) const {
        return distribution_.first(k, n, nodes_.size());
    }
    constexpr int node(std::size_t k, std::size_t n) const {
        if (nodes_.empty()) return 0;
        const bool grouped = order_ == node_order::grouped && !distribution_.is_cyclic();
        return grouped ? nodes_[k * nodes_.size() / segments(n)] : nodes_[k % nodes_.size()];
    }
    // The function from an element's index to its segment, made for n elements.
    constexpr auto locator(std::size_t n) const { return distribution_.locator(n, nodes_.size()); }

    // All segments of `n` elements of a size and alignment, in bytes; `system_page` is the kernel's
    // page size. Throws std::length_error when they do not fit into any address space.
    constexpr std::vector<segment_extent> extents(std::size_t n, std::size_t element_bytes,
                                                  std::size_t alignment,
                                                  std::size_t system_page = 4096) const {
        const std::size_t page = granule(alignment, system_page);
        const std::size_t count = segments(n);
        if (n > max_bytes / element_bytes || count > max_bytes / (2 * page) ||
            padding_ > max_bytes / 2 / (count + 1))
            throw std::length_error{"the layout is larger than the address space"};
        std::vector<segment_extent> result;
        result.reserve(count);
        std::size_t region = 0;
        for (std::size_t k = 0; k < count; ++k) {
            const std::size_t index = first(k, n);
            const std::size_t size = first(k + 1, n) - index;
            const std::size_t shift = k * system::round_up(stagger_, alignment) % page;
            const std::size_t used = size == 0 ? 0 : shift + size * element_bytes;
            const std::size_t region_bytes = system::round_up(used, page);
            const std::size_t offset = region + (size == 0 ? 0 : shift);
            result.push_back({index, size, region, region_bytes, offset, node(k, n)});
            if (size > 0) region += region_bytes + system::round_up(padding_, page);
        }
        return result;
    }
    // The alignment of every segment's region.
    constexpr std::size_t granule(std::size_t alignment, std::size_t system_page = 4096) const {
        return std::max({bytes(page_), alignment, system_page});
    }

    // One line for each segment: elements, node, bytes.
    std::string describe(std::size_t n, std::size_t element_bytes) const {
        std::string text;
        for (const segment_extent& extent : extents(n, element_bytes, 1))
            text += "elements [" + std::to_string(extent.index) + ", " +
                    std::to_string(extent.index + extent.size) + ") on node " +
                    std::to_string(extent.node) + ", bytes [" + std::to_string(extent.offset) +
                    ", " + std::to_string(extent.offset + extent.size * element_bytes) + ")\n";
        return text;
    }

    bool operator==(const layout&) const = default;

  private:
    static constexpr std::size_t max_bytes = std::size_t{1} << 62;

    Distribution distribution_{};
    node_list nodes_{};
    node_order order_ = node_order::grouped;
    page_size page_ = page_size::base;
    std::size_t padding_ = 0;
    std::size_t stagger_ = 0;
    enum placing placing_ = placing::bind;
    when_full full_ = when_full::spill;
};

template <distribution Distribution>
layout(Distribution) -> layout<Distribution>;

}  // namespace numascape
