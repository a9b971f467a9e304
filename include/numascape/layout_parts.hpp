// SPDX-License-Identifier: Apache-2.0
// Layouts from a plan: contiguous parts, as fractions of the whole, with the node of each. A plan
// for a small array is therefore also valid for a large array. parse_layout (layout_text.hpp) reads
// them from text.
//
//     #include <numascape/layout_parts.hpp>
//     #include <numascape/segmented_vector.hpp>
//
//     int main() {
//         using namespace numascape;
//         constexpr auto where = layout_from_parts({{0, 0.25, 0}, {0.25, 1, 0}});
//         static_assert(where.segments(1000) == 2 && where.first(1, 1000) == 250);
//         const segmented_vector<double, layout<weighted>> v{where, 1000};
//         return v.segments()[0].size() == 250 && v.verify().ok() ? 0 : 1;
//     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "numascape/layout.hpp"

namespace numascape {

// A part with its node: the elements between the fractions `first` and `last`, from 0 to 1.
struct layout_part {
    double first = 0;
    double last = 1;
    int node = 0;
};

// Parts must follow each other without gaps, from 0 to 1; fractions are rounded to nine
// digits. The lengths of segments are multiples of `grain`. Throws std::invalid_argument for
// invalid parts, and std::length_error for more than 64.
constexpr layout<weighted> layout_from_parts(std::span<const layout_part> parts,
                                             std::size_t grain = 1) {
    constexpr double whole = 1e9;
    std::vector<std::uint32_t> weights;
    std::vector<int> nodes;
    std::uint32_t before = 0;
    std::uint32_t divisor = 0;
    for (const layout_part& part : parts) {
        // The negated condition also refuses NaN.
        if (!(part.first >= 0 && part.first <= part.last && part.last <= 1))
            throw std::invalid_argument{"the fractions of a part are from 0 to 1, in order"};
        const auto first = static_cast<std::uint32_t>(part.first * whole + 0.5);
        const auto last = static_cast<std::uint32_t>(part.last * whole + 0.5);
        if (first != before)
            throw std::invalid_argument{"a part begins where the part before it ends"};
        weights.push_back(last - first);
        nodes.push_back(part.node);
        divisor = std::gcd(divisor, last - first);
        before = last;
    }
    if (before != static_cast<std::uint32_t>(whole))
        throw std::invalid_argument{"the last part ends at 1"};
    for (std::uint32_t& weight : weights) weight /= divisor;
    return layout{weighted{std::span<const std::uint32_t>{weights}, grain}}.on(
        node_list{std::span<const int>{nodes}});
}
constexpr layout<weighted> layout_from_parts(std::initializer_list<layout_part> parts,
                                             std::size_t grain = 1) {
    return layout_from_parts(std::span<const layout_part>{parts.begin(), parts.size()}, grain);
}

}  // namespace numascape
