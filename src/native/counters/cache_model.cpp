// SPDX-License-Identifier: Apache-2.0
#include "cache_model.h"

#include <cpuid.h>
#include <emmintrin.h>

#include <new>

#include "cache_sets.h"

namespace numascape {
namespace {

template <uint32_t kVectors>
struct Row {
    static constexpr uint32_t kWays = 4;  // of a vector
    static constexpr uint32_t kWords = kVectors * kWays;

    // Ways beyond this one stay where they are when it comes first.
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

// Their registers must also have room where they are kept (Intel's manual, volume 1, chapter 13).
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
    constexpr uint32_t kLeast = 1 << 1 | 1 << 2;  // SSE's and AVX's
    return (enabled & kLeast) == kLeast;
}

CacheModel* CacheModel::create(void* memory, const CacheShape& shape, bool wide_vectors) {
    auto* model = new (memory) CacheModel;
    model->shape_ = shape;
    model->filter_mask_ = filter_mask(shape);
    model->wide_ = wide_vectors && row_words(shape) >= kLeastWideWords;
    return model;
}

uint32_t CacheModel::waiting_bytes(const CacheShape& shape) {
    uint32_t lines = kMostWaiting;
    while (lines > 1 && uint64_t{64} * lines > shape.lines()) {
        lines /= 2;
    }
    return lines * static_cast<uint32_t>(sizeof(WaitingLine));
}

void CacheModel::publish_next(const void** word) {
    SpinGuard guard(taking_);
    *word = waiting();
    next_ = word;
}

bool CacheModel::touch(uint64_t line, bool write) {
    FilterEntry* entry = entry_of(line);
    const auto name = static_cast<FilterEntry>(line);
    if ((write ? entry[1u << kMostFilterBits] : *entry) == name) {
        return false;
    }
    *entry = name;
    if (write) {
        entry[1u << kMostFilterBits] = name;
    }
    const std::atomic_ref<const void*> word(*next_);
    auto* next = static_cast<WaitingLine*>(const_cast<void*>(word.load(std::memory_order_relaxed)));
    *next++ = line | WaitingLine{write} << kWrittenBit;
    word.store(next, std::memory_order_release);
    return (reinterpret_cast<uint64_t>(next) & (waiting_bytes(shape_) - 1)) == 0;
}

uint32_t CacheModel::take_in(const WaitingLine* line, const WaitingLine* end) {
    char* const model = at(0);
    const uint32_t words = row_words(shape_);
    if (wide_) {
        return simulate_wide(model, shape_, words, line, end);
    }
    switch (words / Row<1>::kWays) {
        case 1:
            return simulate<Row<1>>(model, shape_, line, end);
        case 2:
            return simulate<Row<2>>(model, shape_, line, end);
        case 4:
            return simulate<Row<4>>(model, shape_, line, end);
        case 8:
            return simulate<Row<8>>(model, shape_, line, end);
        default:
            return simulate<Row<16>>(model, shape_, line, end);
    }
}

uint32_t CacheModel::take_in_waiting(bool own) {
    if (next_ == nullptr) {
        return 0;
    }
    const std::atomic_ref<const void*> word(*next_);
    const auto* end = static_cast<const WaitingLine*>(word.load(std::memory_order_acquire));
    const WaitingLine* first = waiting() + taken_;
    const uint32_t count = first != end ? take_in(first, end) : 0;
    if (own) {
        word.store(waiting(), std::memory_order_relaxed);
    }
    taken_ = own ? 0 : static_cast<uint32_t>(end - waiting());
    return count;
}

}  // namespace numascape
