// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace numascape {

// Keeps the program's vector registers during a call of code that uses them. The callers of the
// recorder save only the registers that its other code uses. Use it only where the compiler may not
// use vector registers itself (-mgeneral-regs-only). Code for SSE does not change upper halves.
class KeptVectors {
  public:
    KeptVectors() {
        __asm__ volatile(
            "movaps %%xmm0, 0(%0)\n\tmovaps %%xmm1, 16(%0)\n\tmovaps %%xmm2, 32(%0)\n\t"
            "movaps %%xmm3, 48(%0)\n\tmovaps %%xmm4, 64(%0)\n\tmovaps %%xmm5, 80(%0)\n\t"
            "movaps %%xmm6, 96(%0)\n\tmovaps %%xmm7, 112(%0)\n\tmovaps %%xmm8, 128(%0)\n\t"
            "movaps %%xmm9, 144(%0)\n\tmovaps %%xmm10, 160(%0)\n\tmovaps %%xmm11, 176(%0)\n\t"
            "movaps %%xmm12, 192(%0)\n\tmovaps %%xmm13, 208(%0)\n\tmovaps %%xmm14, 224(%0)\n\t"
            "movaps %%xmm15, 240(%0)" ::"r"(kept_)
            : "memory");
    }
    ~KeptVectors() {
        __asm__ volatile(
            "movaps 0(%0), %%xmm0\n\tmovaps 16(%0), %%xmm1\n\tmovaps 32(%0), %%xmm2\n\t"
            "movaps 48(%0), %%xmm3\n\tmovaps 64(%0), %%xmm4\n\tmovaps 80(%0), %%xmm5\n\t"
            "movaps 96(%0), %%xmm6\n\tmovaps 112(%0), %%xmm7\n\tmovaps 128(%0), %%xmm8\n\t"
            "movaps 144(%0), %%xmm9\n\tmovaps 160(%0), %%xmm10\n\tmovaps 176(%0), %%xmm11\n\t"
            "movaps 192(%0), %%xmm12\n\tmovaps 208(%0), %%xmm13\n\tmovaps 224(%0), %%xmm14\n\t"
            "movaps 240(%0), %%xmm15" ::"r"(kept_)
            : "memory");
    }
    KeptVectors(const KeptVectors&) = delete;
    KeptVectors& operator=(const KeptVectors&) = delete;

  private:
    alignas(16) char kept_[256];
};

// The same for code that uses the wide vectors of AVX, which also changes the upper parts of
// AVX-512 registers. Afterwards, the processor again marks empty upper halves as empty; the speed
// of SSE code depends on this.
class KeptWideVectors {
  public:
    // The component of SSE, that of AVX, and the three of AVX-512.
    static constexpr uint32_t kComponents = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7;

    // `area` has enough space, is aligned to 64 bytes, and was zero before its first use.
    explicit KeptWideVectors(void* area) : area_(area) {
        __asm__ volatile("xsave64 (%0)" ::"r"(area_), "a"(kComponents), "d"(0) : "memory");
    }
    ~KeptWideVectors() {
        __asm__ volatile("xrstor64 (%0)" ::"r"(area_), "a"(kComponents), "d"(0) : "memory");
    }
    KeptWideVectors(const KeptWideVectors&) = delete;
    KeptWideVectors& operator=(const KeptWideVectors&) = delete;

  private:
    void* area_;
};

}  // namespace numascape
