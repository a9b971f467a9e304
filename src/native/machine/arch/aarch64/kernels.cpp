// SPDX-License-Identifier: Apache-2.0
//
// NEON, which every AArch64 processor has.
#include "kernels-inl.h"

#include <arm_neon.h>

namespace numascape::machine {

namespace {

struct Pair {
    float64x2_t low, high;
};
// Two registers wide, because the non-temporal store of AArch64 takes a pair.
struct Neon {
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

}  // namespace

std::vector<InstructionSet> instruction_sets() {
    return {{"neon", operations_of<Neon>()}};
}

}  // namespace numascape::machine
