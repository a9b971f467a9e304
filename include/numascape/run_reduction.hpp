// SPDX-License-Identifier: Apache-2.0
// Reduces one run of elements so that the compiler can vectorise it. If floating-point numbers were
// added in the order of the elements, each addition would wait for the one before.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace numascape::detail {

// Number of partial results: enough for four vectors of the widest registers (64 bytes).
template <class T>
inline constexpr std::ptrdiff_t lanes = static_cast<std::ptrdiff_t>(4 * 64 / sizeof(T));

// init op at(0) op ... op at(n - 1), in any order.
template <class T, class Op, class At>
constexpr T reduce_run(T init, std::ptrdiff_t n, Op& op, At at) {
    std::ptrdiff_t i = 0;
    if constexpr (std::is_arithmetic_v<T>) {
        constexpr std::ptrdiff_t width = lanes<T>;
        if (n >= 2 * width) {
            std::array<T, static_cast<std::size_t>(width)> partial;
            T* const part = partial.data();
            for (std::ptrdiff_t j = 0; j < width; ++j) part[j] = at(j);
            for (i = width; i + width <= n; i += width)
                for (std::ptrdiff_t j = 0; j < width; ++j)
                    part[j] = static_cast<T>(std::invoke(op, part[j], at(i + j)));
            for (std::ptrdiff_t half = width / 2; half > 0; half /= 2)
                for (std::ptrdiff_t j = 0; j < half; ++j)
                    part[j] = static_cast<T>(std::invoke(op, part[j], part[j + half]));
            init = static_cast<T>(std::invoke(op, init, part[0]));
        }
    }
    for (; i < n; ++i) init = std::invoke(op, std::move(init), at(i));
    return init;
}

}  // namespace numascape::detail
