// SPDX-License-Identifier: Apache-2.0
// The algorithms of searching.hpp by the workers of an executor (parallel_algorithm.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "numascape/searching.hpp"
#include "numascape/work_division.hpp"

namespace numascape {

namespace detail {

template <class R>
concept random_range = std::ranges::random_access_range<R> && std::ranges::sized_range<R>;

template <class R>
auto from(R& range, std::size_t index) {
    return std::ranges::begin(range) + static_cast<std::ptrdiff_t>(index);
}

// The smallest position that find(block, index of its first element) finds in a block, or the size
// of the range. Blocks behind a position that is known are not searched.
template <class Executor, class R, class Find>
std::size_t first_found(Executor& executor, R& range, Find find) {
    const auto work = divide(executor, runs_of(range));
    std::atomic<std::size_t> best = std::ranges::size(range);
    for_each_block(executor, work, [&](std::size_t, auto elements, std::size_t index) {
        if (index >= best.load(std::memory_order_relaxed)) return;
        const std::size_t at = find(elements, index);
        if (at == elements.size()) return;
        std::size_t before = best;
        while (index + at < before && !best.compare_exchange_weak(before, index + at)) {
        }
    });
    return best;
}

// The position of the element that `better(element, best)` prefers to all; 0 if there is none.
template <class Executor, class R, class Better>
std::size_t best_position(Executor& executor, R& range, Better better) {
    const auto work = divide(executor, runs_of(range));
    using T = element_of<R>;
    std::vector<std::pair<T*, std::size_t>> found(work.blocks());
    for_each_block(executor, work, [&](std::size_t block, auto elements, std::size_t index) {
        T* const first = elements.data();
        T* const best = best_element(first, first + elements.size(), better);
        found[block] = {best, index + static_cast<std::size_t>(best - first)};
    });
    std::size_t best = 0;
    for (std::size_t block = 1; block < found.size(); ++block)
        if (better(*found[block].first, *found[best].first)) best = block;
    return found.empty() ? 0 : found[best].second;
}

}  // namespace detail

// Like the following ones, returns a position in the range that was passed.
template <node_executor E, placed_range R, class P>
auto find_if(E&& executor, R&& range, P predicate) {
    const auto find = [&](auto elements, std::size_t) {
        const auto at = std::find_if(elements.begin(), elements.end(), std::ref(predicate));
        return static_cast<std::size_t>(at - elements.begin());
    };
    return detail::from(range, detail::first_found(executor, range, find));
}
template <node_executor E, placed_range R, class T>
auto find(E&& executor, R&& range, const T& value) {
    return numascape::find_if(executor, range, [&](const auto& x) { return x == value; });
}

template <node_executor E, placed_range R, class P>
bool any_of(E&& executor, R&& range, P predicate) {
    return numascape::find_if(executor, range, std::move(predicate)) != std::ranges::end(range);
}
template <node_executor E, placed_range R, class P>
bool all_of(E&& executor, R&& range, P predicate) {
    return !numascape::any_of(executor, range, std::not_fn(std::move(predicate)));
}
template <node_executor E, placed_range R, class P>
bool none_of(E&& executor, R&& range, P predicate) {
    return !numascape::any_of(executor, range, std::move(predicate));
}

template <node_executor E, placed_range R, class P>
std::ptrdiff_t count_if(E&& executor, R&& range, P predicate) {
    std::atomic<std::ptrdiff_t> all = 0;
    detail::for_each_piece(executor, range, [&](auto elements, std::size_t) {
        all += std::count_if(elements.begin(), elements.end(), std::ref(predicate));
    });
    return all;
}
template <node_executor E, placed_range R, class T>
std::ptrdiff_t count(E&& executor, R&& range, const T& value) {
    return numascape::count_if(executor, range, [&](const auto& x) { return x == value; });
}

template <node_executor E, placed_range R, detail::random_range S, class Equal = std::equal_to<>>
auto mismatch(E&& executor, R&& range, S&& second, Equal equal = {}) {
    const auto both = std::min<std::size_t>(std::ranges::size(range), std::ranges::size(second));
    auto compared = slice(range, 0, both);
    const auto find = [&](auto elements, std::size_t index) {
        const auto with = detail::from(second, index);
        const auto first = elements.begin();
        const auto at = numascape::mismatch(first, elements.end(), with, std::ref(equal)).first;
        return static_cast<std::size_t>(at - first);
    };
    const std::size_t at = detail::first_found(executor, compared, find);
    return std::pair{detail::from(range, at), detail::from(second, at)};
}
template <node_executor E, placed_range R, detail::random_range S, class Equal = std::equal_to<>>
bool equal(E&& executor, R&& range, S&& second, Equal same = {}) {
    return std::ranges::size(range) == std::ranges::size(second) &&
           numascape::mismatch(executor, range, second, std::move(same)).first ==
               std::ranges::end(range);
}

template <node_executor E, placed_range R, class Less = std::less<>>
auto min_element(E&& executor, R&& range, Less less = {}) {
    const auto better = [&](const auto& a, const auto& b) { return bool(std::invoke(less, a, b)); };
    return detail::from(range, detail::best_position(executor, range, better));
}
template <node_executor E, placed_range R, class Less = std::less<>>
auto max_element(E&& executor, R&& range, Less less = {}) {
    const auto better = [&](const auto& a, const auto& b) { return bool(std::invoke(less, b, a)); };
    return detail::from(range, detail::best_position(executor, range, better));
}
template <node_executor E, placed_range R, class Less = std::less<>>
auto minmax_element(E&& executor, R&& range, Less less = {}) {
    const auto last_max = [&](const auto& a, const auto& b) { return !std::invoke(less, a, b); };
    return std::pair{numascape::min_element(executor, range, less),
                     detail::from(range, detail::best_position(executor, range, last_max))};
}

}  // namespace numascape
