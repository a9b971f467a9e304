// SPDX-License-Identifier: Apache-2.0
// Splits ranges of segmented iterators, to any depth, into runs of plain iterators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "numascape/segmented_iterator.hpp"

namespace numascape::detail {

// Calls g(first, last) for each innermost run of plain iterators of a range, in order.
template <class I, class G>
constexpr void for_each_run(I first, I last, G&& g) {
    if constexpr (segmented<I>) {
        using traits = segmented_iterator_traits<I>;
        auto current = traits::segment(first);
        const auto end = traits::segment(last);
        if (current == end) {
            for_each_run(traits::local(first), traits::local(last), g);
            return;
        }
        for_each_run(traits::local(first), traits::end(current), g);
        for (++current; current != end; ++current)
            for_each_run(traits::begin(current), traits::end(current), g);
        for_each_run(traits::begin(end), traits::local(last), g);
    } else if (first != last) {
        g(first, last);
    }
}

// Calls g(first, last) for each run until g returns a position other than last. Returns this
// position, or the end of the range if there is none.
template <class I, class G>
constexpr I search_runs(I first, I last, G&& g) {
    if constexpr (segmented<I>) {
        using traits = segmented_iterator_traits<I>;
        auto current = traits::segment(first);
        const auto end = traits::segment(last);
        auto from = traits::local(first);
        for (; current != end; ++current, from = traits::begin(current)) {
            const auto stop = traits::end(current);
            const auto found = search_runs(from, stop, g);
            if (found != stop) return traits::compose(current, found);
        }
        const auto stop = traits::local(last);
        const auto found = search_runs(from, stop, g);
        return found != stop ? traits::compose(end, found) : last;
    } else {
        return first != last ? g(first, last) : last;
    }
}

// Calls g(plain, m) for each run of m elements of the `n` elements from `it` on, and returns the
// position after them. Plain iterators have only one run.
template <class I, class G>
constexpr I for_next_runs(I it, std::ptrdiff_t n, G&& g) {
    if constexpr (segmented<I>) {
        using traits = segmented_iterator_traits<I>;
        while (n > 0) {
            const auto segment = traits::segment(it);
            const auto local = traits::local(it);
            const auto m =
                std::min<std::ptrdiff_t>(n, std::ranges::distance(local, traits::end(segment)));
            it = traits::compose(segment, for_next_runs(local, m, g));
            n -= m;
        }
        return it;
    } else {
        return n > 0 ? g(it, n) : it;
    }
}

template <class I>
struct plain_iterator {
    using type = I;
};
template <class I>
    requires segmented<I>
struct plain_iterator<I> : plain_iterator<typename segmented_iterator_traits<I>::local_iterator> {};
// The innermost iterator of a segmented one.
template <class I>
using plain_iterator_t = typename plain_iterator<I>::type;

template <class I, class O>
constexpr bool same_address(const I& a, const O& b) {
    if constexpr (std::contiguous_iterator<I> && std::contiguous_iterator<O>)
        return static_cast<const void*>(std::to_address(a)) ==
               static_cast<const void*>(std::to_address(b));
    else
        return false;
}

// Writes f of m elements. Input and output may be the same array, which has a loop of its own:
// Clang vectorises a loop over two arrays only if these do not overlap.
template <class I, class O, class F>
constexpr O transform_run(I from, std::ptrdiff_t m, O to, F& f) {
    if constexpr (std::contiguous_iterator<I> && std::contiguous_iterator<O> &&
                  std::same_as<std::iter_value_t<I>, std::iter_value_t<O>>) {
        auto* const out = std::to_address(to);
        if (same_address(from, to)) {
            for (std::ptrdiff_t i = 0; i < m; ++i) out[i] = std::invoke(f, out[i]);
        } else {
            auto* const in = std::to_address(from);
            for (std::ptrdiff_t i = 0; i < m; ++i) out[i] = std::invoke(f, in[i]);
        }
        return to + m;
    } else {
        return std::transform(from, from + m, to, std::ref(f));
    }
}
template <class I, class J, class O, class F>
constexpr O transform_run(I from, J second, std::ptrdiff_t m, O to, F& f) {
    if constexpr (std::contiguous_iterator<I> && std::contiguous_iterator<J> &&
                  std::contiguous_iterator<O> &&
                  std::same_as<std::iter_value_t<I>, std::iter_value_t<O>> &&
                  std::same_as<std::iter_value_t<J>, std::iter_value_t<O>>) {
        auto* const out = std::to_address(to);
        auto* const a = std::to_address(from);
        auto* const b = std::to_address(second);
        if (same_address(from, to)) {
            for (std::ptrdiff_t i = 0; i < m; ++i) out[i] = std::invoke(f, out[i], b[i]);
        } else if (same_address(second, to)) {
            for (std::ptrdiff_t i = 0; i < m; ++i) out[i] = std::invoke(f, a[i], out[i]);
        } else {
            for (std::ptrdiff_t i = 0; i < m; ++i) out[i] = std::invoke(f, a[i], b[i]);
        }
        return to + m;
    } else {
        return std::transform(from, from + m, second, to, std::ref(f));
    }
}

}  // namespace numascape::detail
