// SPDX-License-Identifier: Apache-2.0
// The algorithms of algorithm.hpp, run by the workers of an executor: each segment of a placed
// range is one task, on a worker of the segment's node. With several ranges, the segments of the
// output determine the tasks, because writes to a remote node cost most. Inputs may have other
// segments or be plain arrays, but must have the size of the output.
//
// Several workers call the passed functions in parallel.
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
//         return y[999] == 3000 && reduce(workers, x, 0.0, std::plus<>{}) == 2000 ? 0 : 1;
//     }
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "numascape/algorithm.hpp"
#include "numascape/executor.hpp"

namespace numascape {

// A range in segments that have a node each: segmented_vector and numa_vector.
template <class R>
concept placed_range = std::ranges::random_access_range<R> && requires(R& range) {
    { range.nodes() } -> std::convertible_to<std::span<const int>>;
    { *range.segments().begin() };
    { range.segments().begin().index() } -> std::convertible_to<std::size_t>;
};

namespace detail {

template <class R>
concept random_range = std::ranges::random_access_range<R> && std::ranges::sized_range<R>;

template <class R, class Out>
void expect_size(R& input, Out& output) {
    if (std::ranges::size(input) != std::ranges::size(output))
        throw std::invalid_argument{"the input has " + std::to_string(std::ranges::size(input)) +
                                    " elements, the output " +
                                    std::to_string(std::ranges::size(output))};
}

template <class R>
auto from(R& range, std::size_t index) {
    return std::ranges::begin(range) + static_cast<std::ptrdiff_t>(index);
}

// Calls f(k, segment, index of its first element) for each segment that has elements.
template <class Executor, class R, class F>
void for_each_segment(Executor& executor, R& range, F f) {
    const auto segments = range.segments();
    executor.bulk(range.nodes(), [&](std::size_t k) {
        const auto segment = segments.begin() + static_cast<std::ptrdiff_t>(k);
        if (segment.begin() != segment.end()) f(k, *segment, segment.index());
    });
}

// A worker's result, on a cache line of its own.
template <class T>
struct alignas(64) partial_result {
    std::optional<T> value;
};

// at(0) op ... op at(n - 1); n is at least 1.
template <class T, class Op, class At>
T reduce_some(std::ptrdiff_t n, Op op, At at) {
    return reduce_run(T(at(0)), n - 1, op, [&](std::ptrdiff_t i) -> T { return at(i + 1); });
}

}  // namespace detail

template <node_executor E, placed_range R, class F>
void for_each(E&& executor, R&& range, F f) {
    detail::for_each_segment(executor, range, [&](std::size_t, auto segment, std::size_t) {
        numascape::for_each(segment, std::ref(f));
    });
}

template <node_executor E, placed_range R, class T>
void fill(E&& executor, R&& range, const T& value) {
    detail::for_each_segment(executor, range, [&](std::size_t, auto segment, std::size_t) {
        numascape::fill(segment, value);
    });
}

template <node_executor E, placed_range R, class G>
void generate(E&& executor, R&& range, G g) {
    detail::for_each_segment(executor, range, [&](std::size_t, auto segment, std::size_t) {
        numascape::generate(segment, std::ref(g));
    });
}

// Like the following functions, throws std::invalid_argument if the sizes differ.
template <node_executor E, detail::random_range In, placed_range Out>
void copy(E&& executor, In&& input, Out&& output) {
    detail::expect_size(input, output);
    detail::for_each_segment(executor, output, [&](std::size_t, auto segment, std::size_t index) {
        const auto first = detail::from(input, index);
        numascape::copy(first, first + std::ssize(segment), segment.data());
    });
}

template <node_executor E, detail::random_range In, placed_range Out, class F>
void transform(E&& executor, In&& input, Out&& output, F f) {
    detail::expect_size(input, output);
    detail::for_each_segment(executor, output, [&](std::size_t, auto segment, std::size_t index) {
        const auto first = detail::from(input, index);
        numascape::transform(first, first + std::ssize(segment), segment.data(), std::ref(f));
    });
}

template <node_executor E, detail::random_range In, detail::random_range In2, placed_range Out,
          class F>
void transform(E&& executor, In&& input, In2&& second, Out&& output, F f) {
    detail::expect_size(input, output);
    detail::expect_size(second, output);
    detail::for_each_segment(executor, output, [&](std::size_t, auto segment, std::size_t index) {
        const auto first = detail::from(input, index);
        numascape::transform(first, first + std::ssize(segment), detail::from(second, index),
                             segment.data(), std::ref(f));
    });
}

// Partial results are combined in the order of the segments. op must therefore only be commutative
// within a segment, and results do not depend on the workers.
template <node_executor E, placed_range R, class T, class Op, class F>
T transform_reduce(E&& executor, R&& range, T init, Op op, F f) {
    std::vector<detail::partial_result<T>> partial(range.nodes().size());
    detail::for_each_segment(executor, range, [&](std::size_t k, auto segment, std::size_t) {
        partial[k].value = detail::reduce_some<T>(
            std::ssize(segment), op,
            [&, data = segment.data()](std::ptrdiff_t i) -> T { return std::invoke(f, data[i]); });
    });
    for (auto& part : partial)
        if (part.value) init = op(std::move(init), std::move(*part.value));
    return init;
}

template <node_executor E, placed_range R, class T, class Op>
T reduce(E&& executor, R&& range, T init, Op op) {
    return numascape::transform_reduce(executor, range, std::move(init), op, std::identity{});
}

template <node_executor E, placed_range R, detail::random_range R2, class T, class Op = std::plus<>,
          class F = std::multiplies<>>
T transform_reduce(E&& executor, R&& range, R2&& second, T init, Op op = {}, F f = {}) {
    detail::expect_size(second, range);
    std::vector<detail::partial_result<T>> partial(range.nodes().size());
    detail::for_each_segment(executor, range, [&](std::size_t k, auto segment, std::size_t index) {
        const auto with = detail::from(second, index);
        partial[k].value =
            numascape::transform_reduce(segment.begin() + 1, segment.end(), with + 1,
                                        T(std::invoke(f, segment.front(), *with)), op, std::ref(f));
    });
    for (auto& part : partial)
        if (part.value) init = op(std::move(init), std::move(*part.value));
    return init;
}

// Reads the input twice: once for the sum of each segment, once for the result.
template <node_executor E, detail::random_range In, placed_range Out, class T, class Op>
void inclusive_scan(E&& executor, In&& input, Out&& output, Op op, T init) {
    detail::expect_size(input, output);
    std::vector<detail::partial_result<T>> partial(output.nodes().size());
    detail::for_each_segment(executor, output, [&](std::size_t k, auto segment, std::size_t index) {
        const auto first = detail::from(input, index);
        T sum = *first;
        // In order, so op need not be commutative.
        numascape::for_each(first + 1, first + std::ssize(segment),
                            [&](const auto& x) { sum = op(std::move(sum), x); });
        partial[k].value = std::move(sum);
    });
    for (auto& part : partial) {
        if (!part.value) continue;
        T next = op(init, std::move(*part.value));
        part.value = std::exchange(init, std::move(next));
    }
    detail::for_each_segment(executor, output, [&](std::size_t k, auto segment, std::size_t index) {
        const auto first = detail::from(input, index);
        numascape::inclusive_scan(first, first + std::ssize(segment), segment.data(), op,
                                  std::move(*partial[k].value));
    });
}

}  // namespace numascape
