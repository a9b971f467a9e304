// SPDX-License-Identifier: Apache-2.0
//
// SSE2, which every x86-64 processor has, and the choice of the sets that this one has.
#include "kernels-inl.h"

#include <emmintrin.h>

#include "wide_kernels.h"

namespace numascape::machine {

namespace {

struct Sse2 {
    using Type = __m128d;
    static constexpr std::size_t width = 2;
    static Type load(const double* from) { return _mm_load_pd(from); }
    static void store(double* to, Type value) { _mm_store_pd(to, value); }
    static void stream(double* to, Type value) { _mm_stream_pd(to, value); }
    static Type set(double value) { return _mm_set1_pd(value); }
    static Type add(Type x, Type y) { return _mm_add_pd(x, y); }
    static Type fma(Type x, Type y, Type z) { return _mm_add_pd(_mm_mul_pd(x, y), z); }
    static double sum(Type x) { return x[0] + x[1]; }
    static void fence() { _mm_sfence(); }
};

}  // namespace

std::vector<InstructionSet> instruction_sets() {
    std::vector<InstructionSet> found;
    if (__builtin_cpu_supports("avx512f")) found.push_back({"avx512", avx512_operations()});
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        found.push_back({"avx2", avx2_operations()});
    }
    found.push_back({"sse2", operations_of<Sse2>()});
    return found;
}

}  // namespace numascape::machine
