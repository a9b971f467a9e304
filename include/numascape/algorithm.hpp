// SPDX-License-Identifier: Apache-2.0
// Algorithms that split segmented iterators: the inner loop runs over plain pointers, so the
// compiler optimises it like a loop over an array. Names, arguments and results are those of the
// standard library; ranges may mix segmented, nested segmented and plain iterators. They run in the
// calling thread; parallel_algorithm.hpp has the versions with an executor as first argument.
//
//     #include <numascape/algorithm.hpp>
//     #include <numascape/segmented_vector.hpp>
//     #include <cstdio>
//
//     int main() {
//         using namespace numascape;
//         segmented_vector<double> a{layout{block{4}}, 1000, 2.0};
//         segmented_vector<double> b{layout{block{3}}, 1000};
//         transform(a, b.begin(), [](double x) { return 3 * x; });
//         std::printf("%g\n", transform_reduce(a, b.begin(), 0.0));  // 12000
//     }
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <ranges>
#include <type_traits>
#include <utility>

#include "numascape/rearranging.hpp"
#include "numascape/run_reduction.hpp"
#include "numascape/runs.hpp"
#include "numascape/scanning.hpp"
#include "numascape/searching.hpp"

namespace numascape {

// Calls f(element) for each, and returns f.
template <std::input_iterator I, class F>
constexpr F for_each(I first, I last, F f) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        for (; p != q; ++p) std::invoke(f, *p);
    });
    return f;
}
template <std::ranges::input_range R, class F>
constexpr F for_each(R&& range, F f) {
    return numascape::for_each(std::ranges::begin(range), std::ranges::end(range), std::move(f));
}

// Calls f for the n elements from `first` on, and returns the position after them.
template <std::input_iterator I, class F>
constexpr I for_each_n(I first, std::ptrdiff_t n, F f) {
    return detail::for_next_runs(first, n, [&](auto p, std::ptrdiff_t m) {
        for (; m > 0; --m, ++p) std::invoke(f, *p);
        return p;
    });
}

template <std::forward_iterator I, class T>
constexpr void fill(I first, I last, const T& value) {
    detail::for_each_run(first, last, [&](auto p, auto q) { std::fill(p, q, value); });
}
template <std::ranges::forward_range R, class T>
constexpr void fill(R&& range, const T& value) {
    numascape::fill(std::ranges::begin(range), std::ranges::end(range), value);
}

// Assigns g() to each, in order.
template <std::forward_iterator I, class G>
constexpr void generate(I first, I last, G g) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        for (; p != q; ++p) *p = g();
    });
}
template <std::ranges::forward_range R, class G>
constexpr void generate(R&& range, G g) {
    numascape::generate(std::ranges::begin(range), std::ranges::end(range), std::move(g));
}

template <std::input_iterator I, class O>
constexpr O copy(I first, I last, O out) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        out = detail::for_next_runs(out, q - p, [&](auto to, std::ptrdiff_t m) {
            const auto from = std::exchange(p, p + m);
            return std::copy(from, p, to);
        });
    });
    return out;
}
template <std::ranges::input_range R, class O>
constexpr O copy(R&& range, O out) {
    return numascape::copy(std::ranges::begin(range), std::ranges::end(range), std::move(out));
}

// *out = f(*first), and so on; returns the end of the output.
template <std::input_iterator I, class O, class F>
constexpr O transform(I first, I last, O out, F f) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        out = detail::for_next_runs(out, q - p, [&](auto to, std::ptrdiff_t m) {
            const auto from = std::exchange(p, p + m);
            return detail::transform_run(from, m, to, f);
        });
    });
    return out;
}
template <std::ranges::input_range R, class O, class F>
constexpr O transform(R&& range, O out, F f) {
    return numascape::transform(std::ranges::begin(range), std::ranges::end(range), std::move(out),
                                std::move(f));
}

// *out = f(*first, *second), and so on.
template <std::input_iterator I, std::input_iterator J, class O, class F>
constexpr O transform(I first, I last, J second, O out, F f) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        second = detail::for_next_runs(second, q - p, [&](auto with, std::ptrdiff_t n) {
            out = detail::for_next_runs(out, n, [&](auto to, std::ptrdiff_t m) {
                const auto from = std::exchange(p, p + m);
                const auto other = std::exchange(with, with + m);
                return detail::transform_run(from, other, m, to, f);
            });
            return with;
        });
    });
    return out;
}
template <std::ranges::input_range R, std::input_iterator J, class O, class F>
constexpr O transform(R&& range, J second, O out, F f) {
    return numascape::transform(std::ranges::begin(range), std::ranges::end(range),
                                std::move(second), std::move(out), std::move(f));
}

// init op f(element) op f(element) ..., in any order: op must be associative and commutative, as
// for the standard's function of this name.
template <std::input_iterator I, class T, class Op, class F>
    requires std::invocable<F&, std::iter_reference_t<I>>
constexpr T transform_reduce(I first, I last, T init, Op op, F f) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        init = detail::reduce_run(std::move(init), q - p, op,
                                  [&](std::ptrdiff_t i) -> T { return std::invoke(f, p[i]); });
    });
    return init;
}
template <std::ranges::input_range R, class T, class Op, class F>
    requires std::invocable<F&, std::ranges::range_reference_t<R>>
constexpr T transform_reduce(R&& range, T init, Op op, F f) {
    return numascape::transform_reduce(std::ranges::begin(range), std::ranges::end(range),
                                       std::move(init), op, std::move(f));
}

// The same with the elements themselves.
template <std::input_iterator I, class T, class Op = std::plus<>>
constexpr T reduce(I first, I last, T init, Op op = {}) {
    return numascape::transform_reduce(first, last, std::move(init), op, std::identity{});
}
template <std::input_iterator I>
constexpr std::iter_value_t<I> reduce(I first, I last) {
    return numascape::reduce(first, last, std::iter_value_t<I>{});
}
template <std::ranges::input_range R, class T = std::ranges::range_value_t<R>,
          class Op = std::plus<>>
constexpr T reduce(R&& range, T init = {}, Op op = {}) {
    return numascape::reduce(std::ranges::begin(range), std::ranges::end(range), std::move(init),
                             op);
}

// The same with f(element, element of the second range): by default the inner product.
template <std::input_iterator I, std::input_iterator J, class T, class Op = std::plus<>,
          class F = std::multiplies<>>
    requires std::invocable<F&, std::iter_reference_t<I>, std::iter_reference_t<J>>
constexpr T transform_reduce(I first, I last, J second, T init, Op op = {}, F f = {}) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        second = detail::for_next_runs(second, q - p, [&](auto with, std::ptrdiff_t m) {
            init = detail::reduce_run(std::move(init), m, op, [&](std::ptrdiff_t i) -> T {
                return std::invoke(f, p[i], with[i]);
            });
            p += m;
            return with + m;
        });
    });
    return init;
}
template <std::ranges::input_range R, std::input_iterator J, class T, class Op = std::plus<>,
          class F = std::multiplies<>>
    requires std::invocable<F&, std::ranges::range_reference_t<R>, std::iter_reference_t<J>>
constexpr T transform_reduce(R&& range, J second, T init, Op op = {}, F f = {}) {
    return numascape::transform_reduce(std::ranges::begin(range), std::ranges::end(range),
                                       std::move(second), std::move(init), op, f);
}

// The same in the order of the elements, as the standard's function of this name: op need be
// neither associative nor commutative.
template <std::input_iterator I, std::input_iterator J, class T, class Op = std::plus<>,
          class F = std::multiplies<>>
constexpr T inner_product(I first, I last, J second, T init, Op op = {}, F f = {}) {
    detail::for_each_run(first, last, [&](auto p, auto q) {
        second = detail::for_next_runs(second, q - p, [&](auto with, std::ptrdiff_t m) {
            for (; m > 0; --m, ++p, ++with)
                init = std::invoke(op, std::move(init), std::invoke(f, *p, *with));
            return with;
        });
    });
    return init;
}
template <std::ranges::input_range R, std::input_iterator J, class T, class Op = std::plus<>,
          class F = std::multiplies<>>
constexpr T inner_product(R&& range, J second, T init, Op op = {}, F f = {}) {
    return numascape::inner_product(std::ranges::begin(range), std::ranges::end(range),
                                    std::move(second), std::move(init), op, f);
}

}  // namespace numascape
