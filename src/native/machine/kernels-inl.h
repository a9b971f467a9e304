// SPDX-License-Identifier: Apache-2.0
//
// The loops, for a type V of vectors with `width` doubles and the static functions load, store,
// stream (a non-temporal store), set, add, fma, sum and fence. Included once for each instruction
// set, by a file that is compiled for it; everything here is therefore in an unnamed namespace.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels.h"

namespace numascape::machine {
namespace {

inline constexpr double kScalar = 3.0;
// Independent sums hide the latency of additions.
inline constexpr std::size_t kSums = 8;

// The compiler must assume that memory changes between two rounds, so that it keeps each round.
inline void end_round() {
    asm volatile("" : : : "memory");
}

template <typename V>
double read(const Vectors& vectors, std::size_t count, std::size_t rounds) {
    static_assert(kBlock % (kSums * V::width) == 0);
    const Vectors v = vectors;
    typename V::Type sums[kSums];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kSums; k++) sums[k] = V::set(0.0);
    for (std::size_t round = 0; round < rounds; round++) {
        for (std::size_t i = 0; i < count; i += kSums * V::width) {
#pragma GCC unroll 8
            for (std::size_t k = 0; k < kSums; k++) {
                sums[k] = V::add(sums[k], V::load(v.a + i + k * V::width));
            }
        }
        end_round();
    }
#pragma GCC unroll 8
    for (std::size_t k = 1; k < kSums; k++) sums[0] = V::add(sums[0], sums[k]);
    return V::sum(sums[0]);
}

template <typename V, bool NonTemporal>
void put(double* to, typename V::Type value) {
    if constexpr (NonTemporal) {
        V::stream(to, value);
    } else {
        V::store(to, value);
    }
}

// Stores value(i) to each vector of a; value is inlined. Loads of a few vectors come first, then
// their stores.
template <typename V, bool NonTemporal, typename Value>
double fill(double* a, std::size_t count, std::size_t rounds, Value value) {
    constexpr std::size_t unroll = 4;
    static_assert(kBlock % (unroll * V::width) == 0);
    for (std::size_t round = 0; round < rounds; round++) {
        for (std::size_t i = 0; i < count; i += unroll * V::width) {
            typename V::Type values[unroll];
#pragma GCC unroll 4
            for (std::size_t k = 0; k < unroll; k++) values[k] = value(i + k * V::width);
#pragma GCC unroll 4
            for (std::size_t k = 0; k < unroll; k++) {
                put<V, NonTemporal>(a + i + k * V::width, values[k]);
            }
        }
        end_round();
    }
    if constexpr (NonTemporal) V::fence();
    return a[0];
}

template <typename V, bool NonTemporal>
double write(const Vectors& v, std::size_t count, std::size_t rounds) {
    const auto scalar = V::set(kScalar);
    return fill<V, NonTemporal>(v.a, count, rounds, [=](std::size_t) { return scalar; });
}

template <typename V, bool NonTemporal>
double copy(const Vectors& vectors, std::size_t count, std::size_t rounds) {
    const Vectors v = vectors;
    return fill<V, NonTemporal>(v.a, count, rounds,
                                [v](std::size_t i) { return V::load(v.b + i); });
}

template <typename V, bool NonTemporal>
double stream(const Vectors& vectors, std::size_t count, std::size_t rounds) {
    const Vectors v = vectors;
    const auto scalar = V::set(kScalar);
    return fill<V, NonTemporal>(v.a, count, rounds, [v, scalar](std::size_t i) {
        return V::fma(scalar, V::load(v.c + i), V::load(v.b + i));
    });
}

template <typename V, bool NonTemporal>
double triad(const Vectors& vectors, std::size_t count, std::size_t rounds) {
    const Vectors v = vectors;
    return fill<V, NonTemporal>(v.a, count, rounds, [v](std::size_t i) {
        return V::fma(V::load(v.c + i), V::load(v.d + i), V::load(v.b + i));
    });
}

template <typename V>
std::vector<Operation> operations_of() {
    return {{"read", 1, 8, read<V>},
            {"write", 1, 8, write<V, false>},
            {"write-nt", 1, 8, write<V, true>},
            {"copy", 2, 16, copy<V, false>},
            {"copy-nt", 2, 16, copy<V, true>},
            {"stream", 3, 24, stream<V, false>},
            {"stream-nt", 3, 24, stream<V, true>},
            {"triad", 4, 32, triad<V, false>},
            {"triad-nt", 4, 32, triad<V, true>}};
}

}  // namespace
}  // namespace numascape::machine
