// SPDX-License-Identifier: Apache-2.0
// Searching, counting and comparing segmented iterators (algorithm.hpp).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

#include "numascape/runs.hpp"

namespace numascape {

// The first element for which the predicate is true, or the end.
template <std::forward_iterator I, class P>
constexpr I find_if(I first, I last, P predicate) {
    return detail::search_runs(
        first, last, [&](auto p, auto q) { return std::find_if(p, q, std::ref(predicate)); });
}
template <std::ranges::forward_range R, class P>
constexpr auto find_if(R&& range, P predicate) {
    return numascape::find_if(std::ranges::begin(range), std::ranges::end(range),
                              std::move(predicate));
}

template <std::forward_iterator I, class T>
constexpr I find(I first, I last, const T& value) {
    return detail::search_runs(first, last, [&](auto p, auto q) { return std::find(p, q, value); });
}
template <std::ranges::forward_range R, class T>
constexpr auto find(R&& range, const T& value) {
    return numascape::find(std::ranges::begin(range), std::ranges::end(range), value);
}

// Whether the predicate is true for an element, for all, for none.
template <std::forward_iterator I, class P>
constexpr bool any_of(I first, I last, P predicate) {
    return numascape::find_if(first, last, std::move(predicate)) != last;
}
template <std::ranges::forward_range R, class P>
constexpr bool any_of(R&& range, P predicate) {
    return numascape::any_of(std::ranges::begin(range), std::ranges::end(range),
                             std::move(predicate));
}
template <std::forward_iterator I, class P>
constexpr bool all_of(I first, I last, P predicate) {
    return !numascape::any_of(first, last, std::not_fn(std::move(predicate)));
}
template <std::ranges::forward_range R, class P>
constexpr bool all_of(R&& range, P predicate) {
    return !numascape::any_of(range, std::not_fn(std::move(predicate)));
}
template <std::forward_iterator I, class P>
constexpr bool none_of(I first, I last, P predicate) {
    return !numascape::any_of(first, last, std::move(predicate));
}
template <std::ranges::forward_range R, class P>
constexpr bool none_of(R&& range, P predicate) {
    return !numascape::any_of(range, std::move(predicate));
}

template <std::input_iterator I, class P>
constexpr std::ptrdiff_t count_if(I first, I last, P predicate) {
    std::ptrdiff_t count = 0;
    detail::for_each_run(
        first, last, [&](auto p, auto q) { count += std::count_if(p, q, std::ref(predicate)); });
    return count;
}
template <std::ranges::input_range R, class P>
constexpr std::ptrdiff_t count_if(R&& range, P predicate) {
    return numascape::count_if(std::ranges::begin(range), std::ranges::end(range),
                               std::move(predicate));
}

template <std::input_iterator I, class T>
constexpr std::ptrdiff_t count(I first, I last, const T& value) {
    return numascape::count_if(first, last, [&](const auto& x) { return x == value; });
}
template <std::ranges::input_range R, class T>
constexpr std::ptrdiff_t count(R&& range, const T& value) {
    return numascape::count(std::ranges::begin(range), std::ranges::end(range), value);
}

// The first positions at which two ranges differ; the second is at least as long as the first.
template <std::forward_iterator I, std::forward_iterator J, class Equal = std::equal_to<>>
constexpr std::pair<I, J> mismatch(I first, I last, J second, Equal equal = {}) {
    std::ptrdiff_t same = 0;
    J with = second;
    detail::search_runs(first, last, [&](auto p, auto q) {
        bool differs = false;
        const auto start = p;
        with = detail::for_next_runs(with, q - p, [&](auto other, std::ptrdiff_t m) {
            if (!differs) {
                const auto at = std::mismatch(p, p + m, other, std::ref(equal)).first;
                same += at - p;
                differs = at != p + m;
                p += m;
            }
            return other + m;
        });
        return differs ? start : q;
    });
    return {std::ranges::next(first, same), std::ranges::next(second, same)};
}
// The same for ranges of any sizes.
template <std::ranges::forward_range R, std::ranges::forward_range S, class Equal = std::equal_to<>>
constexpr auto mismatch(R&& range, S&& second, Equal equal = {}) {
    const auto n =
        std::min<std::ptrdiff_t>(std::ranges::distance(range), std::ranges::distance(second));
    const auto first = std::ranges::begin(range);
    return numascape::mismatch(first, std::ranges::next(first, n), std::ranges::begin(second),
                               std::move(equal));
}

template <std::forward_iterator I, std::forward_iterator J, class Equal = std::equal_to<>>
constexpr bool equal(I first, I last, J second, Equal same = {}) {
    return numascape::mismatch(first, last, second, std::move(same)).first == last;
}
template <std::ranges::forward_range R, std::ranges::forward_range S, class Equal = std::equal_to<>>
constexpr bool equal(R&& range, S&& second, Equal same = {}) {
    return std::ranges::distance(range) == std::ranges::distance(second) &&
           numascape::mismatch(range, second, std::move(same)).first == std::ranges::end(range);
}

namespace detail {

// The element that `better(element, best)` prefers to all others; of equal ones, the first.
template <class I, class Better>
constexpr I best_element(I first, I last, Better better) {
    std::size_t runs = 0;
    std::size_t best_run = 0;
    plain_iterator_t<I> best{};
    for_each_run(first, last, [&](auto p, auto q) {
        auto found = p;
        for (auto at = std::ranges::next(p); at != q; ++at)
            if (better(*at, *found)) found = at;
        if (runs == 0 || better(*found, *best)) {
            best = found;
            best_run = runs;
        }
        ++runs;
    });
    std::size_t run = 0;
    return search_runs(first, last, [&](auto, auto q) { return run++ == best_run ? best : q; });
}

}  // namespace detail

// The first of the smallest elements; the end of an empty range.
template <std::forward_iterator I, class Less = std::less<>>
constexpr I min_element(I first, I last, Less less = {}) {
    return detail::best_element(first, last, [&](const auto& a, const auto& b) {
        return static_cast<bool>(std::invoke(less, a, b));
    });
}
template <std::ranges::forward_range R, class Less = std::less<>>
constexpr auto min_element(R&& range, Less less = {}) {
    return numascape::min_element(std::ranges::begin(range), std::ranges::end(range),
                                  std::move(less));
}

// The first of the largest elements.
template <std::forward_iterator I, class Less = std::less<>>
constexpr I max_element(I first, I last, Less less = {}) {
    return detail::best_element(first, last, [&](const auto& a, const auto& b) {
        return static_cast<bool>(std::invoke(less, b, a));
    });
}
template <std::ranges::forward_range R, class Less = std::less<>>
constexpr auto max_element(R&& range, Less less = {}) {
    return numascape::max_element(std::ranges::begin(range), std::ranges::end(range),
                                  std::move(less));
}

// The first of the smallest and the last of the largest elements, as std::minmax_element.
template <std::forward_iterator I, class Less = std::less<>>
constexpr std::pair<I, I> minmax_element(I first, I last, Less less = {}) {
    return {numascape::min_element(first, last, less),
            detail::best_element(first, last, [&](const auto& a, const auto& b) {
                return !std::invoke(less, a, b);
            })};
}
template <std::ranges::forward_range R, class Less = std::less<>>
constexpr auto minmax_element(R&& range, Less less = {}) {
    return numascape::minmax_element(std::ranges::begin(range), std::ranges::end(range),
                                     std::move(less));
}

}  // namespace numascape
