// SPDX-License-Identifier: Apache-2.0
// Selecting and reordering elements of segmented iterators (algorithm.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

#include "numascape/runs.hpp"
#include "numascape/searching.hpp"

namespace numascape {

// Copies the elements for which the predicate is true; returns the end of the output.
template <std::input_iterator I, class O, class P>
constexpr O copy_if(I first, I last, O out, P predicate) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        out = std::copy_if(p, q, std::move(out), std::ref(predicate));
    });
    return out;
}
template <std::ranges::input_range R, class O, class P>
constexpr O copy_if(R&& range, O out, P predicate) {
    return numascape::copy_if(std::ranges::begin(range), std::ranges::end(range), std::move(out),
                              std::move(predicate));
}

// Moves the elements for which the predicate is false to the front, in order, and returns their
// end. The elements behind it have unspecified values, as after std::remove_if.
template <std::forward_iterator I, class P>
constexpr I remove_if(I first, I last, P predicate) {
    I out = numascape::find_if(first, last, std::ref(predicate));
    if (out == last) return out;
    detail::for_each_run(std::ranges::next(out), last, [&](auto p, auto q) {
        for (; p != q; ++p) {
            if (std::invoke(predicate, *p)) continue;
            *out = std::ranges::iter_move(p);
            ++out;
        }
    });
    return out;
}
template <std::ranges::forward_range R, class P>
constexpr auto remove_if(R&& range, P predicate) {
    return numascape::remove_if(std::ranges::begin(range), std::ranges::end(range),
                                std::move(predicate));
}

// Keeps the first of adjacent equal elements, and returns the end of those that are kept.
template <std::forward_iterator I, class Equal = std::equal_to<>>
constexpr I unique(I first, I last, Equal equal = {}) {
    if (first == last) return last;
    I out = first;
    detail::for_each_run(std::ranges::next(first), last, [&](auto p, auto q) {
        for (; p != q; ++p) {
            if (std::invoke(equal, *out, *p)) continue;
            ++out;
            if (std::addressof(*out) != std::addressof(*p)) *out = std::ranges::iter_move(p);
        }
    });
    return ++out;
}
template <std::ranges::forward_range R, class Equal = std::equal_to<>>
constexpr auto unique(R&& range, Equal equal = {}) {
    return numascape::unique(std::ranges::begin(range), std::ranges::end(range), std::move(equal));
}

// Moves the elements for which the predicate is true to the front, in any order, and returns their
// end.
template <std::bidirectional_iterator I, class P>
constexpr I partition(I first, I last, P predicate) {
    return std::partition(first, last, std::ref(predicate));
}
template <std::ranges::bidirectional_range R, class P>
constexpr auto partition(R&& range, P predicate) {
    return numascape::partition(std::ranges::begin(range), std::ranges::end(range),
                                std::move(predicate));
}

}  // namespace numascape
