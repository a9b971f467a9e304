// SPDX-License-Identifier: Apache-2.0
// The algorithms of algorithm.hpp, run by the workers of an executor: all workers of a node share
// the elements on it (work_division.hpp). With several ranges, the output determines who does what,
// because writes to a remote node cost most. Inputs may have other segments or be plain arrays, but
// must have the size of the output.
//
// Several workers call the passed functions in parallel. A range of at most 16 KiB of trivially
// copyable elements is done by the calling thread, unless the executor is in_grains{...}.
//
//     #include <numascape/parallel_algorithm.hpp>
//     #include <numascape/segmented_vector.hpp>
//     #include <vector>
//
//     int main() {
//         using namespace numascape;
//         node_threads workers;
//         segmented_vector<double> x{workers, layout{block{4}}, 1000, 2.0};
//         segmented_vector<double> y{workers, layout{block{4}}, 1000};
//         transform(workers, x, std::vector<double>(1000, 1.0), y, std::plus<>{});
//         inclusive_scan(workers, y, y, std::plus<>{}, 0.0);
//         const bool found = find(workers, y, 30.0) == y.begin() + 9;
//         return found && reduce(workers, x, 0.0, std::plus<>{}) == 2000 ? 0 : 1;
//     }
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "numascape/algorithm.hpp"
#include "numascape/executor.hpp"
#include "numascape/parallel_rearranging.hpp"
#include "numascape/parallel_scanning.hpp"
#include "numascape/parallel_searching.hpp"
#include "numascape/work_division.hpp"

namespace numascape {

namespace detail {

// at(0) op ... op at(n - 1); n is at least 1.
template <class T, class Op, class At>
T reduce_some(std::ptrdiff_t n, Op op, At at) {
    return reduce_run(T(at(0)), n - 1, op, [&](std::ptrdiff_t i) -> T { return at(i + 1); });
}

// init op the sums of all blocks, in order.
template <class T, class Executor, class R, class Op, class Sum>
T reduce_blocks(Executor& executor, R& range, T init, Op op, Sum sum) {
    const auto work = divide(executor, runs_of(range));
    std::vector<std::optional<T>> sums(work.blocks());
    for_each_block(executor, work, [&](std::size_t block, auto elements, std::size_t index) {
        sums[block] = sum(elements, index);
    });
    for (auto& one : sums) init = op(std::move(init), std::move(*one));
    return init;
}

}  // namespace detail

template <node_executor E, placed_range R, class F>
void for_each(E&& executor, R&& range, F f) {
    detail::for_each_piece(executor, range, [&](auto elements, std::size_t) {
        numascape::for_each(elements, std::ref(f));
    });
}

template <node_executor E, placed_range R, class T>
void fill(E&& executor, R&& range, const T& value) {
    detail::for_each_piece(executor, range,
                           [&](auto elements, std::size_t) { numascape::fill(elements, value); });
}

template <node_executor E, placed_range R, class G>
void generate(E&& executor, R&& range, G g) {
    detail::for_each_piece(executor, range, [&](auto elements, std::size_t) {
        numascape::generate(elements, std::ref(g));
    });
}

// Like the following functions, returns the end of the output, and throws std::invalid_argument if
// the sizes differ.
template <node_executor E, detail::random_range In, placed_range Out>
auto copy(E&& executor, In&& input, Out&& output) {
    detail::expect_size(input, output);
    detail::for_each_piece(executor, output, [&](auto elements, std::size_t index) {
        const auto first = detail::from(input, index);
        numascape::copy(first, first + std::ssize(elements), elements.data());
    });
    return std::ranges::end(output);
}

template <node_executor E, detail::random_range In, placed_range Out, class F>
auto transform(E&& executor, In&& input, Out&& output, F f) {
    detail::expect_size(input, output);
    detail::for_each_piece(executor, output, [&](auto elements, std::size_t index) {
        const auto first = detail::from(input, index);
        numascape::transform(first, first + std::ssize(elements), elements.data(), std::ref(f));
    });
    return std::ranges::end(output);
}

template <node_executor E, detail::random_range In, detail::random_range In2, placed_range Out,
          class F>
auto transform(E&& executor, In&& input, In2&& second, Out&& output, F f) {
    detail::expect_size(input, output);
    detail::expect_size(second, output);
    detail::for_each_piece(executor, output, [&](auto elements, std::size_t index) {
        const auto first = detail::from(input, index);
        numascape::transform(first, first + std::ssize(elements), detail::from(second, index),
                             elements.data(), std::ref(f));
    });
    return std::ranges::end(output);
}

// Calls f for the first n elements, and returns the position after them. Throws std::out_of_range
// if there are fewer.
template <node_executor E, placed_range R, class F>
auto for_each_n(E&& executor, R&& range, std::size_t n, F f) {
    numascape::for_each(executor, slice(range, 0, n), std::move(f));
    return detail::from(range, n);
}

// op must be associative. Sums of blocks are combined in order, so op must be commutative only for
// elements within one block of 16 KiB. Results do not depend on the workers or their number.
template <node_executor E, placed_range R, class T, class Op, class F>
T transform_reduce(E&& executor, R&& range, T init, Op op, F f) {
    return detail::reduce_blocks(
        executor, range, std::move(init), op, [&](auto elements, std::size_t) {
            return detail::reduce_some<T>(std::ssize(elements), op,
                                          [&, data = elements.data()](std::ptrdiff_t i) -> T {
                                              return std::invoke(f, data[i]);
                                          });
        });
}

template <node_executor E, placed_range R, class T = std::ranges::range_value_t<R>,
          class Op = std::plus<>>
T reduce(E&& executor, R&& range, T init = {}, Op op = {}) {
    return numascape::transform_reduce(executor, range, std::move(init), op, std::identity{});
}

template <node_executor E, placed_range R, detail::random_range R2, class T, class Op = std::plus<>,
          class F = std::multiplies<>>
T transform_reduce(E&& executor, R&& range, R2&& second, T init, Op op = {}, F f = {}) {
    detail::expect_size(second, range);
    return detail::reduce_blocks(
        executor, range, std::move(init), op, [&](auto elements, std::size_t index) {
            const auto with = detail::from(second, index);
            auto* const data = elements.data();
            return numascape::transform_reduce(data + 1, data + elements.size(), with + 1,
                                               T(std::invoke(f, *data, *with)), op, std::ref(f));
        });
}

// The same: in parallel, op must be associative and commutative.
template <node_executor E, placed_range R, detail::random_range R2, class T, class Op = std::plus<>,
          class F = std::multiplies<>>
T inner_product(E&& executor, R&& range, R2&& second, T init, Op op = {}, F f = {}) {
    return numascape::transform_reduce(executor, range, second, std::move(init), op, f);
}

}  // namespace numascape
