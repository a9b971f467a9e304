// SPDX-License-Identifier: Apache-2.0
//
// Compiled for AVX2 and BMI2; the caller must check that the processor has them.
#include "cache_sets.h"

#include <immintrin.h>

namespace numascape {
namespace {

template <uint32_t kVectors>
struct WideRow {
    static constexpr uint32_t kWays = 8;  // in a vector
    static constexpr uint32_t kWords = kVectors * kWays;

    [[gnu::always_inline]] static uint32_t move_to_front(uint32_t* row, uint32_t last_way,
                                                         uint32_t tag) {
        auto* const vectors = reinterpret_cast<__m256i*>(row);
        const __m256i wanted = _mm256_set1_epi32(static_cast<int>(tag & ~kDirty));
        const __m256i name = _mm256_set1_epi32(static_cast<int>(~kDirty));
        __m256i old[kVectors];
        uint64_t equal = 0;
        for (uint32_t i = 0; i < kVectors; ++i) {
            old[i] = _mm256_load_si256(vectors + i);
            const __m256i same = _mm256_cmpeq_epi32(_mm256_and_si256(old[i], name), wanted);
            const int ways = _mm256_movemask_ps(_mm256_castsi256_ps(same));
            equal |= static_cast<uint64_t>(ways) << (i * kWays);
        }
        const auto way = static_cast<uint32_t>(__builtin_ctzll(equal | uint64_t{1} << last_way));
        const uint32_t there = row[way];
        const uint32_t first = tag | (equal != 0 ? there & kDirty : 0);
        const __m256i down = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
        const __m256i last = _mm256_set1_epi32(static_cast<int>(way));
        __m256i carried = _mm256_castsi128_si256(_mm_cvtsi32_si128(static_cast<int>(first)));
        for (uint32_t i = 0; i < kVectors; ++i) {
            const __m256i turned = _mm256_permutevar8x32_epi32(old[i], down);
            const __m256i moved = _mm256_blend_epi32(turned, carried, 1);
            carried = turned;
            const auto ways = static_cast<int>(i * kWays);
            const __m256i stays =
                _mm256_cmpgt_epi32(_mm256_setr_epi32(ways, ways + 1, ways + 2, ways + 3, ways + 4,
                                                     ways + 5, ways + 6, ways + 7),
                                   last);
            _mm256_store_si256(vectors + i, _mm256_blendv_epi8(moved, old[i], stays));
        }
        return there;
    }
};

}  // namespace

uint32_t simulate_wide(char* model, const CacheShape& shape, uint32_t words,
                       const WaitingLine* line, const WaitingLine* end) {
    switch (words / WideRow<1>::kWays) {
        case 1:
            return simulate<WideRow<1>>(model, shape, line, end);
        case 2:
            return simulate<WideRow<2>>(model, shape, line, end);
        case 4:
            return simulate<WideRow<4>>(model, shape, line, end);
        default:
            return simulate<WideRow<8>>(model, shape, line, end);
    }
}

}  // namespace numascape
