// SPDX-License-Identifier: Apache-2.0
// Running sums and differences of segmented iterators (algorithm.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

#include "numascape/runs.hpp"

namespace numascape {

// Element i of the output is init op the first i + 1 elements; op must only be associative.
template <std::input_iterator I, class O, class T, class Op>
constexpr O inclusive_scan(I first, I last, O out, Op op, T init) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        out = detail::for_next_runs(out, q - p, [&](auto to, std::ptrdiff_t m) {
            for (; m > 0; --m, ++p, ++to) *to = init = std::invoke(op, std::move(init), *p);
            return to;
        });
    });
    return out;
}
template <std::ranges::input_range R, class O, class T, class Op>
constexpr O inclusive_scan(R&& range, O out, Op op, T init) {
    return numascape::inclusive_scan(std::ranges::begin(range), std::ranges::end(range),
                                     std::move(out), op, std::move(init));
}

// The same without init: the first element is copied.
template <std::input_iterator I, std::weakly_incrementable O, class Op = std::plus<>>
constexpr O inclusive_scan(I first, I last, O out, Op op = {}) {
    if (first == last) return out;
    std::iter_value_t<I> init = *first;
    *out = init;
    ++out;
    return numascape::inclusive_scan(++first, last, std::move(out), op, std::move(init));
}
template <std::ranges::input_range R, std::weakly_incrementable O, class Op = std::plus<>>
constexpr O inclusive_scan(R&& range, O out, Op op = {}) {
    return numascape::inclusive_scan(std::ranges::begin(range), std::ranges::end(range),
                                     std::move(out), op);
}

// Element i of the output is init op the first i elements. Input and output may be the same.
template <std::input_iterator I, class O, class T, class Op = std::plus<>>
constexpr O exclusive_scan(I first, I last, O out, T init, Op op = {}) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        out = detail::for_next_runs(out, q - p, [&](auto to, std::ptrdiff_t m) {
            for (; m > 0; --m, ++p, ++to) {
                T next = std::invoke(op, init, *p);
                *to = std::exchange(init, std::move(next));
            }
            return to;
        });
    });
    return out;
}
template <std::ranges::input_range R, class O, class T, class Op = std::plus<>>
constexpr O exclusive_scan(R&& range, O out, T init, Op op = {}) {
    return numascape::exclusive_scan(std::ranges::begin(range), std::ranges::end(range),
                                     std::move(out), std::move(init), op);
}

// Element i of the output is op(element i, element i - 1); the first is copied. Input and output
// may be the same.
template <std::input_iterator I, class O, class Op = std::minus<>>
constexpr O adjacent_difference(I first, I last, O out, Op op = {}) {
    if (first == last) return out;
    std::iter_value_t<I> previous = *first;
    *out = previous;
    ++out;
    detail::for_each_run(++first, last, [&](auto p, auto q) {
        out = detail::for_next_runs(out, q - p, [&](auto to, std::ptrdiff_t m) {
            for (; m > 0; --m, ++p, ++to) {
                std::iter_value_t<I> value = *p;
                *to = std::invoke(op, value, std::move(previous));
                previous = std::move(value);
            }
            return to;
        });
    });
    return out;
}
template <std::ranges::input_range R, class O, class Op = std::minus<>>
constexpr O adjacent_difference(R&& range, O out, Op op = {}) {
    return numascape::adjacent_difference(std::ranges::begin(range), std::ranges::end(range),
                                          std::move(out), op);
}

}  // namespace numascape
