// SPDX-License-Identifier: Apache-2.0
//
// Sets of the cache model in vectors of SSE2, which every x86-64 processor has.
#include "cache_sets.h"

#include <emmintrin.h>

namespace numascape {
namespace {

template <uint32_t kVectors>
struct Row {
    static constexpr uint32_t kWays = 4;  // in a vector
    static constexpr uint32_t kWords = kVectors * kWays;

    // All bits set for ways after `way`: they do not move when it becomes the first one.
    static __m128i beyond(uint32_t vector, uint32_t way) {
        const auto first = static_cast<int>(vector * kWays);
        return _mm_cmpgt_epi32(_mm_setr_epi32(first, first + 1, first + 2, first + 3),
                               _mm_set1_epi32(static_cast<int>(way)));
    }

    [[gnu::always_inline]] static uint32_t move_to_front(uint32_t* row, uint32_t last_way,
                                                         uint32_t tag) {
        auto* const vectors = reinterpret_cast<__m128i*>(row);
        const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag & ~kDirty));
        const __m128i name = _mm_set1_epi32(static_cast<int>(~kDirty));
        __m128i old[kVectors];
        uint64_t equal = 0;
        for (uint32_t i = 0; i < kVectors; ++i) {
            old[i] = _mm_load_si128(vectors + i);
            const __m128i same = _mm_cmpeq_epi32(_mm_and_si128(old[i], name), wanted);
            equal |= static_cast<uint64_t>(_mm_movemask_ps(_mm_castsi128_ps(same))) << (i * kWays);
        }
        const auto way = static_cast<uint32_t>(__builtin_ctzll(equal | uint64_t{1} << last_way));
        const uint32_t there = row[way];
        const uint32_t first = tag | (equal != 0 ? there & kDirty : 0);
        __m128i carried = _mm_cvtsi32_si128(static_cast<int>(first));
        for (uint32_t i = 0; i < kVectors; ++i) {
            const __m128i moved = _mm_or_si128(_mm_slli_si128(old[i], 4), carried);
            const __m128i stays = beyond(i, way);
            carried = _mm_srli_si128(old[i], 12);
            _mm_store_si128(vectors + i, _mm_or_si128(_mm_and_si128(stays, old[i]),
                                                      _mm_andnot_si128(stays, moved)));
        }
        return there;
    }
};

}  // namespace

uint32_t simulate_narrow(char* model, const CacheShape& shape, uint32_t words,
                         const WaitingLine* line, const WaitingLine* end) {
    switch (words / Row<1>::kWays) {
        case 1:
            return simulate<Row<1>>(model, shape, line, end);
        case 2:
            return simulate<Row<2>>(model, shape, line, end);
        case 4:
            return simulate<Row<4>>(model, shape, line, end);
        case 8:
            return simulate<Row<8>>(model, shape, line, end);
        default:
            return simulate<Row<16>>(model, shape, line, end);
    }
}

}  // namespace numascape
