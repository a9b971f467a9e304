// SPDX-License-Identifier: Apache-2.0
#include "cache_model.h"

#include <cpuid.h>

namespace numascape {

// The save area must also have room for the registers of these vectors (Intel's manual, volume 1,
// chapter 13).
bool CacheModel::wide_vectors_here() {
    constexpr uint32_t kSaving = bit_OSXSAVE | bit_AVX;
    constexpr uint32_t kUsed = bit_AVX2 | bit_BMI | bit_BMI2;
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;
    uint32_t d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSaving) != kSaving ||
        __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & kUsed) != kUsed) {
        return false;
    }
    uint32_t enabled = 0;
    __asm__("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
    for (uint32_t component = 2; component < 32; ++component) {
        if ((enabled & KeptWideVectors::kComponents & 1u << component) == 0) {
            continue;
        }
        uint32_t bytes = 0;
        uint32_t offset = 0;
        if (__get_cpuid_count(13, component, &bytes, &offset, &c, &d) == 0 ||
            offset + bytes > kKeptBytes) {
            return false;
        }
    }
    constexpr uint32_t kMin = 1 << 1 | 1 << 2;  // SSE's and AVX's
    return (enabled & kMin) == kMin;
}

}  // namespace numascape
