// SPDX-License-Identifier: Apache-2.0
// Loops by index over several containers at the speed of arrays: the containers' segments are cut
// where any of them ends, and a function gets plain spans of equal length.
//
//     #include <numascape/segmented_vector.hpp>
//     #include <numascape/spans.hpp>
//     #include <numeric>
//     #include <span>
//
//     int main() {
//         using namespace numascape;
//         segmented_vector<double> a{layout{block{3}}, 1000};
//         const segmented_vector<double> b{layout{block{4}}, 1000, 2.0};
//         // Instead of: for (i...) a[i] = i * b[i]
//         for_each_span(
//             [](std::size_t index, std::span<double> x, std::span<const double> y) {
//                 for (std::size_t i = 0; i < x.size(); ++i)
//                     x[i] = static_cast<double>(index + i) * y[i];
//             },
//             a, b);
//         return a[999] == 1998 ? 0 : 1;
//     }
#pragma once

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "numascape/parallel_scanning.hpp"
#include "numascape/work_division.hpp"

namespace numascape {

namespace detail {

// The elements of a range from a position on, to the end of its segment.
template <class R>
auto span_from(R& range, std::size_t index) {
    using T = element_of<R>;
    const auto it = from(range, index);
    if constexpr (std::contiguous_iterator<std::ranges::iterator_t<R>>) {
        return std::span<T>{it, std::ranges::size(range) - index};
    } else {
        auto* const first = it.local();
        const auto left = static_cast<std::size_t>(it.segment().end() - first);
        return std::span<T>{first, std::min(left, std::ranges::size(range) - index)};
    }
}

// Calls f for elements [index, index + size) of all ranges, once for each piece between cuts.
template <class F, class... R>
void call_with_spans(std::size_t index, std::size_t size, F& f, R&... ranges) {
    for (const std::size_t end = index + size; index < end;) {
        const auto all = std::tuple{span_from(ranges, index)...};
        const std::size_t n = std::apply(
            [&](const auto&... spans) { return std::min({end - index, spans.size()...}); }, all);
        std::apply([&](const auto&... spans) { f(index, spans.first(n)...); }, all);
        index += n;
    }
}

template <class R>
concept spanned_range =
    random_range<std::remove_reference_t<R>> &&
    (std::ranges::contiguous_range<R> || segmented_part<std::remove_reference_t<R>>);

}  // namespace detail

// Calls f(index of the first elements, std::span of each range) until all elements were passed.
// Throws std::invalid_argument if the ranges have different sizes.
template <class F, detail::spanned_range R, detail::spanned_range... Others>
void for_each_span(F f, R&& range, Others&&... others) {
    (detail::expect_size(others, range), ...);
    detail::call_with_spans(0, std::ranges::size(range), f, range, others...);
}

// The same by the workers of an executor; the first range determines who does what. Several workers
// call f in parallel.
template <node_executor E, class F, placed_range R, detail::spanned_range... Others>
void for_each_span(E&& executor, F f, R&& range, Others&&... others) {
    (detail::expect_size(others, range), ...);
    detail::for_each_piece(executor, range, [&](auto elements, std::size_t index) {
        const auto with_first = [&](std::size_t at, auto span, auto... spans) {
            f(at, elements.subspan(at - index, span.size()), span, spans...);
        };
        if constexpr (sizeof...(others) == 0)
            f(index, elements);
        else
            detail::call_with_spans(index, elements.size(), with_first, others...);
    });
}

}  // namespace numascape
