// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

// A NumPy array whose memory is the vector's; no copy.
template <typename T>
nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>> column(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()},
                                                                    owner);
}
