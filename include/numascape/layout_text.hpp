// SPDX-License-Identifier: Apache-2.0
// Layouts as one line of text, for configuration files, plans and command lines:
//
//     block 8 grain 1024; nodes 0 1 2 3; pages 2M; padding 4096; stagger 192; first touch; fail
//
// The distribution comes first (`block [COUNT] [grain N]`, `cyclic LENGTH`, `weighted W W ...
// [grain N]`, or with their nodes `parts 0-0.25@0,0.25-1@1 [grain N]`: a quarter on node 0, the
// rest on node 1), the others in any order or not at all.
//
//     #include <numascape/layout_text.hpp>
//     #include <numascape/segmented_vector.hpp>
//
//     int main() {
//         using namespace numascape;
//         const auto where = parse_layout("weighted 3 1; nodes 0; pages 2M");
//         const segmented_vector<double, any_layout> v{where, 1000, 1.0};
//         const bool same = to_text(where) == "weighted 3 1; nodes 0; pages 2M";
//         return v.segments()[1].size() == 250 && same ? 0 : 1;
//     }
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "numascape/any_distribution.hpp"
#include "numascape/layout.hpp"
#include "numascape/layout_parts.hpp"

namespace numascape {

// A layout whose distribution is known at run time only.
using any_layout = layout<any_distribution>;

namespace detail {

inline std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        if (end > 0) parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

[[noreturn]] inline void no_layout(std::string_view part, const char* wanted) {
    throw std::invalid_argument{"\"" + std::string{part} + "\" in a layout: " + wanted};
}

template <class Number>
Number parse_number(std::string_view text) {
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        no_layout(text,
                  std::is_integral_v<Number> ? "expected a whole number" : "expected a fraction");
    return value;
}

// FIRST-LAST@NODE, and a comma between parts.
inline std::vector<layout_part> parse_parts(std::string_view text) {
    std::vector<layout_part> parts;
    for (const std::string_view part : split(text, ',')) {
        const std::size_t dash = part.find('-');
        const std::size_t at = part.find('@');
        if (dash == part.npos || at == part.npos || at < dash)
            no_layout(part, "a part is FIRST-LAST@NODE");
        parts.push_back({parse_number<double>(part.substr(0, dash)),
                         parse_number<double>(part.substr(dash + 1, at - dash - 1)),
                         parse_number<int>(part.substr(at + 1))});
    }
    return parts;
}

inline any_layout parse_layout_of_parts(std::string_view text, std::size_t grain) {
    try {
        const layout<weighted> where = layout_from_parts(parse_parts(text), grain);
        return any_layout{where.distribution()}.on(where.nodes());
    } catch (const std::length_error& wrong) {
        no_layout(text, wrong.what());
    }
}

// Reads the distribution. The text of `parts` also gives the nodes.
inline any_layout parse_distribution(std::string_view text) {
    std::vector<std::string_view> words = split(text, ' ');
    std::size_t grain = 1;
    if (words.size() >= 2 && words[words.size() - 2] == "grain") {
        grain = parse_number<std::size_t>(words.back());
        words.resize(words.size() - 2);
    }
    const std::string_view kind = words.empty() ? std::string_view{} : words[0];
    if (kind == "block" && words.size() <= 2)
        return any_layout{
            block{words.size() == 2 ? parse_number<std::size_t>(words[1]) : 0, grain}};
    if (kind == "cyclic" && words.size() == 2 && grain == 1)
        return any_layout{block_cyclic<>{parse_number<std::size_t>(words[1])}};
    if (kind == "weighted" && words.size() >= 2) {
        std::vector<std::uint32_t> weights;
        for (std::size_t i = 1; i < words.size(); ++i)
            weights.push_back(parse_number<std::uint32_t>(words[i]));
        return any_layout{weighted{std::span<const std::uint32_t>{weights}, grain}};
    }
    if (kind == "parts" && words.size() == 2) return parse_layout_of_parts(words[1], grain);
    no_layout(text,
              "expected block [COUNT], cyclic LENGTH, weighted W W ... or parts F-F@NODE,...");
}

inline page_size parse_page(std::string_view text) {
    if (text == "4K") return page_size::base;
    if (text == "64K") return page_size::kib64;
    if (text == "2M") return page_size::mib2;
    no_layout(text, "pages are 4K, 64K or 2M");
}

}  // namespace detail

// Throws std::invalid_argument, which names the part that is wrong.
inline any_layout parse_layout(std::string_view text) {
    const std::vector<std::string_view> parts = detail::split(text, ';');
    any_layout result = detail::parse_distribution(parts.empty() ? text : parts[0]);
    const bool has_nodes = !result.nodes().empty();
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const std::vector<std::string_view> words = detail::split(parts[i], ' ');
        const std::string_view name = words.empty() ? std::string_view{} : words[0];
        if (name == "nodes" && !has_nodes) {
            std::vector<int> nodes;
            for (std::size_t k = 1; k < words.size(); ++k)
                nodes.push_back(detail::parse_number<int>(words[k]));
            result = result.on(node_list{std::span<const int>{nodes}});
        } else if (name == "pages" && words.size() == 2) {
            result = result.pages(detail::parse_page(words[1]));
        } else if (name == "padding" && words.size() == 2) {
            result = result.padded(detail::parse_number<std::size_t>(words[1]));
        } else if (name == "stagger" && words.size() == 2) {
            result = result.staggered(detail::parse_number<std::size_t>(words[1]));
        } else if (name == "in" && words.size() == 2 && words[1] == "turn") {
            result = result.ordered(node_order::cyclic);
        } else if (name == "first" && words.size() == 2 && words[1] == "touch") {
            result = result.first_touched();
        } else if (name == "fail" && words.size() == 1) {
            result = result.when_node_is_full(when_full::fail);
        } else {
            detail::no_layout(
                parts[i], "expected nodes, pages, padding, stagger, in turn, first touch, fail");
        }
    }
    return result;
}

// The text from which parse_layout makes this layout.
template <class Distribution>
std::string to_text(const layout<Distribution>& where) {
    std::string text = to_text(where.distribution());
    if (!where.nodes().empty()) {
        text += "; nodes";
        for (const int node : where.nodes()) text += " " + std::to_string(node);
    }
    if (where.page() != page_size::base)
        text += where.page() == page_size::mib2 ? "; pages 2M" : "; pages 64K";
    if (where.padding() != 0) text += "; padding " + std::to_string(where.padding());
    if (where.stagger() != 0) text += "; stagger " + std::to_string(where.stagger());
    if (where.order() == node_order::cyclic) text += "; in turn";
    if (where.placing() == placing::first_touch) text += "; first touch";
    if (where.full() == when_full::fail) text += "; fail";
    return text;
}

}  // namespace numascape
