// SPDX-License-Identifier: Apache-2.0
#include "cache_model.h"

#include <new>

#include "cache_sets.h"

namespace numascape {
CacheModel* CacheModel::create(void* memory, const CacheShape& shape, bool wide_vectors) {
    auto* model = new (memory) CacheModel;
    model->shape_ = shape;
    model->filter_mask_ = filter_mask(shape);
    model->wide_ = wide_vectors && row_words(shape) >= kMinWideWords;
    return model;
}

uint32_t CacheModel::waiting_bytes(const CacheShape& shape) {
    uint32_t lines = kMaxWaiting;
    while (lines > 1 && uint64_t{64} * lines > shape.lines()) {
        lines /= 2;
    }
    return lines * static_cast<uint32_t>(sizeof(WaitingLine));
}

void CacheModel::publish_next(const void** word) {
    SpinGuard guard(taking_);
    *word = waiting();
    next_ = word;
    taken_ = 0;
}

void CacheModel::take_range_from_filter(uint64_t first, uint64_t lines) {
    FilterEntry* entries = filter();
    for (uint32_t i = 0; i < 2u << kMaxFilterBits; ++i) {
        const std::atomic_ref<FilterEntry> entry(entries[i]);
        if (entry.load(std::memory_order_relaxed) - static_cast<FilterEntry>(first) < lines) {
            entry.store(0, std::memory_order_relaxed);
        }
    }
}

bool CacheModel::touch(uint64_t line, bool write) {
    FilterEntry* entry = entry_of(line);
    const auto name = static_cast<FilterEntry>(line);
    if ((write ? entry[1u << kMaxFilterBits] : *entry) == name) {
        return false;
    }
    *entry = name;
    if (write) {
        entry[1u << kMaxFilterBits] = name;
    }
    const std::atomic_ref<const void*> word(*next_);
    auto* next = static_cast<WaitingLine*>(const_cast<void*>(word.load(std::memory_order_relaxed)));
    *next++ = line | WaitingLine{write} << kWrittenBit;
    word.store(next, std::memory_order_release);
    return (reinterpret_cast<uint64_t>(next) & (waiting_bytes(shape_) - 1)) == 0;
}

uint32_t CacheModel::process(const WaitingLine* line, const WaitingLine* end) {
    char* const model = at(0);
    const uint32_t words = row_words(shape_);
    if (wide_) {
        return simulate_wide(model, shape_, words, line, end);
    }
    return simulate_narrow(model, shape_, words, line, end);
}

uint32_t CacheModel::process_waiting(bool own) {
    if (next_ == nullptr) {
        return 0;
    }
    const std::atomic_ref<const void*> word(*next_);
    const auto* end = static_cast<const WaitingLine*>(word.load(std::memory_order_acquire));
    const WaitingLine* first = waiting() + taken_;
    // If a thread was ended while it took its lines, the two may not fit.
    const uint32_t count = first < end ? process(first, end) : 0;
    if (own) {
        word.store(waiting(), std::memory_order_relaxed);
    }
    taken_ = own ? 0 : static_cast<uint32_t>(end - waiting());
    return count;
}

}  // namespace numascape
