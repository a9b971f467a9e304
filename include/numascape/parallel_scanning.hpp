// SPDX-License-Identifier: Apache-2.0
// The algorithms of scanning.hpp by the workers of an executor (parallel_algorithm.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "numascape/algorithm.hpp"
#include "numascape/parallel_searching.hpp"
#include "numascape/scanning.hpp"
#include "numascape/work_division.hpp"

namespace numascape {

namespace detail {

template <class R, class Out>
void expect_size(R& input, Out& output) {
    if (std::ranges::size(input) != std::ranges::size(output))
        throw std::invalid_argument{"the input has " + std::to_string(std::ranges::size(input)) +
                                    " elements, the output " +
                                    std::to_string(std::ranges::size(output))};
}

// Calls scan(first, last, output, what comes before) for each block of the output; without init,
// nothing comes before the first. Reads the input twice: once for the sum of each block, once for
// the result. Returns the end of the output.
template <class Executor, class In, class Out, class T, class Op, class Scan>
auto scan_blocks(Executor& executor, In& input, Out& output, std::optional<T> init, Op op,
                 Scan scan) {
    expect_size(input, output);
    const auto work = divide(executor, runs_of(output));
    std::vector<std::optional<T>> sums(work.blocks());
    for_each_block(executor, work, [&](std::size_t block, auto elements, std::size_t index) {
        const auto first = from(input, index);
        T sum = *first;
        // In order, so op need not be commutative.
        numascape::for_each_n(first + 1, std::ssize(elements) - 1,
                              [&](const auto& x) { sum = std::invoke(op, std::move(sum), x); });
        sums[block] = std::move(sum);
    });
    for (auto& sum : sums) {
        T next = init ? T(std::invoke(op, *init, std::move(*sum))) : std::move(*sum);
        sum = std::exchange(init, std::move(next));
    }
    for_each_block(executor, work, [&](std::size_t block, auto elements, std::size_t index) {
        const auto first = from(input, index);
        scan(first, first + std::ssize(elements), elements.data(), std::move(sums[block]));
    });
    return std::ranges::end(output);
}

}  // namespace detail

// The blocks do not depend on the number of workers. The result is therefore always the same, also
// for floating-point numbers. Like the following functions, returns the end of the output.
template <node_executor E, detail::random_range In, placed_range Out, class T, class Op>
auto inclusive_scan(E&& executor, In&& input, Out&& output, Op op, T init) {
    return detail::scan_blocks(executor, input, output, std::optional<T>(std::move(init)), op,
                               [&](auto first, auto last, auto* out, std::optional<T> before) {
                                   numascape::inclusive_scan(first, last, out, op,
                                                             std::move(*before));
                               });
}
template <node_executor E, detail::random_range In, placed_range Out, class Op = std::plus<>>
auto inclusive_scan(E&& executor, In&& input, Out&& output, Op op = {}) {
    using T = std::ranges::range_value_t<In>;
    return detail::scan_blocks(executor, input, output, std::optional<T>(), op,
                               [&](auto first, auto last, auto* out, std::optional<T> before) {
                                   if (before) {
                                       numascape::inclusive_scan(first, last, out, op,
                                                                 std::move(*before));
                                   } else {
                                       numascape::inclusive_scan(first, last, out, op);
                                   }
                               });
}
template <node_executor E, detail::random_range In, placed_range Out, class T,
          class Op = std::plus<>>
auto exclusive_scan(E&& executor, In&& input, Out&& output, T init, Op op = {}) {
    return detail::scan_blocks(executor, input, output, std::optional<T>(std::move(init)), op,
                               [&](auto first, auto last, auto* out, std::optional<T> before) {
                                   numascape::exclusive_scan(first, last, out, std::move(*before),
                                                             op);
                               });
}

template <node_executor E, detail::random_range In, placed_range Out, class Op = std::minus<>>
auto adjacent_difference(E&& executor, In&& input, Out&& output, Op op = {}) {
    using T = std::ranges::range_value_t<In>;
    detail::expect_size(input, output);
    const auto work = detail::divide(executor, detail::runs_of(output));
    // A copy of the element before each piece: another worker may overwrite this element if the
    // input is also the output.
    std::vector<std::optional<T>> before(work.size());
    for (std::size_t k = 0; k < work.size(); ++k)
        if (work[k].index > 0) before[k] = *detail::from(input, work[k].index - 1);
    work.run(executor, [&](std::size_t k) {
        const auto first = detail::from(input, work[k].index);
        const auto end = first + std::ssize(work[k].elements);
        auto* const out = work[k].elements.data();
        T own = *first;
        numascape::adjacent_difference(first, end, out, op);
        if (before[k]) *out = std::invoke(op, std::move(own), std::move(*before[k]));
    });
    return std::ranges::end(output);
}

}  // namespace numascape
