// SPDX-License-Identifier: Apache-2.0
#include "wide_kernels.h"

#include <immintrin.h>

#include "kernels-inl.h"

namespace numascape::machine {

namespace {
struct Avx2 {
    using Type = __m256d;
    static constexpr std::size_t width = 4;
    static Type load(const double* from) { return _mm256_load_pd(from); }
    static void store(double* to, Type value) { _mm256_store_pd(to, value); }
    static void stream(double* to, Type value) { _mm256_stream_pd(to, value); }
    static Type set(double value) { return _mm256_set1_pd(value); }
    static Type add(Type x, Type y) { return _mm256_add_pd(x, y); }
    static Type fma(Type x, Type y, Type z) { return _mm256_fmadd_pd(x, y, z); }
    static double sum(Type x) { return x[0] + x[1] + x[2] + x[3]; }
    static void fence() { _mm_sfence(); }
};
}  // namespace

std::vector<Operation> avx2_operations() {
    return operations_of<Avx2>();
}

}  // namespace numascape::machine
