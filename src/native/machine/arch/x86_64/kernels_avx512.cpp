// SPDX-License-Identifier: Apache-2.0
#include "wide_kernels.h"

#include <immintrin.h>

#include "kernels-inl.h"

namespace numascape::machine {

namespace {
struct Avx512 {
    using Type = __m512d;
    static constexpr std::size_t width = 8;
    static Type load(const double* from) { return _mm512_load_pd(from); }
    static void store(double* to, Type value) { _mm512_store_pd(to, value); }
    static void stream(double* to, Type value) { _mm512_stream_pd(to, value); }
    static Type set(double value) { return _mm512_set1_pd(value); }
    static Type add(Type x, Type y) { return _mm512_add_pd(x, y); }
    static Type fma(Type x, Type y, Type z) { return _mm512_fmadd_pd(x, y, z); }
    // Not _mm512_reduce_add_pd, about which gcc 12 warns.
    static double sum(Type x) { return x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7]; }
    static void fence() { _mm_sfence(); }
};
}  // namespace

std::vector<Operation> avx512_operations() {
    return operations_of<Avx512>();
}

}  // namespace numascape::machine
