// SPDX-License-Identifier: Apache-2.0
//
// The instructions of every processor of the architecture: SSE2 on x86-64, NEON on AArch64.
#include "kernels-inl.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace numascape::machine {

namespace {

#if defined(__x86_64__)
struct Baseline {
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
#elif defined(__aarch64__)
struct Pair {
    float64x2_t low, high;
};
// Two registers wide, because the non-temporal store of AArch64 takes a pair.
struct Baseline {
    using Type = Pair;
    static constexpr std::size_t width = 4;
    static Type load(const double* from) { return {vld1q_f64(from), vld1q_f64(from + 2)}; }
    static void store(double* to, Type value) {
        vst1q_f64(to, value.low);
        vst1q_f64(to + 2, value.high);
    }
    static void stream(double* to, Type value) {
        asm volatile("stnp %q1, %q2, [%0]" : : "r"(to), "w"(value.low), "w"(value.high) : "memory");
    }
    static Type set(double value) { return {vdupq_n_f64(value), vdupq_n_f64(value)}; }
    static Type add(Type x, Type y) { return {vaddq_f64(x.low, y.low), vaddq_f64(x.high, y.high)}; }
    static Type fma(Type x, Type y, Type z) {
        return {vfmaq_f64(z.low, x.low, y.low), vfmaq_f64(z.high, x.high, y.high)};
    }
    static double sum(Type x) { return vaddvq_f64(vaddq_f64(x.low, x.high)); }
    static void fence() { asm volatile("dmb ishst" : : : "memory"); }
};
#else
struct Baseline {
    using Type = double;
    static constexpr std::size_t width = 1;
    static Type load(const double* from) { return *from; }
    static void store(double* to, Type value) { *to = value; }
    static void stream(double* to, Type value) { *to = value; }
    static Type set(double value) { return value; }
    static Type add(Type x, Type y) { return x + y; }
    static Type fma(Type x, Type y, Type z) { return x * y + z; }
    static double sum(Type x) { return x; }
    static void fence() {}
};
#endif

}  // namespace

std::vector<Operation> baseline_operations() {
    return operations_of<Baseline>();
}

std::vector<InstructionSet> instruction_sets() {
    std::vector<InstructionSet> found;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) found.push_back({"avx512", avx512_operations()});
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        found.push_back({"avx2", avx2_operations()});
    }
    found.push_back({"sse2", baseline_operations()});
#elif defined(__aarch64__)
    found.push_back({"neon", baseline_operations()});
#else
    found.push_back({"scalar", baseline_operations()});
#endif
    std::erase_if(found, [](const InstructionSet& set) { return set.operations.empty(); });
    return found;
}

}  // namespace numascape::machine
