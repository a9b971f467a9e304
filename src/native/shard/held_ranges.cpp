// SPDX-License-Identifier: Apache-2.0
#include "held_ranges.h"

namespace numascape {

HeldRanges::Held& HeldRanges::of(const StridedRow& row) {
    constexpr uint64_t kSiteBytes = 16;
    return held_[reinterpret_cast<uint64_t>(row.site) / kSiteBytes % kRows];
}

void HeldRanges::count(Held& held) {
    const StridedRow& row = held.row;
    uint64_t address = row.start;
    for (uint64_t i = held.times != 0 ? row.count : 0; i > 0; --i, address += row.step) {
        PageCounter& page_counter = row.page_counters[window_page(address)];
        page_counter.negated_reads -= row.reads * held.times;
        page_counter.negated_writes -= row.writes * held.times;
    }
    held.times = 0;
}

bool HeldRanges::add(const StridedRow& row) {
    const SpinGuard guard(lock_);
    Held& held = of(row);
    const StridedRow& known = held.row;
    const bool same = known.site == row.site && known.page_counters == row.page_counters &&
                      row.start - known.start < held.room && known.step == row.step &&
                      known.count == row.count && known.reads == row.reads &&
                      known.writes == row.writes;
    if (!same || held.times == kMaxTimes) {
        return false;
    }
    held.times += 1;
    return true;
}

void HeldRanges::hold(const StridedRow& row, uint64_t furthest) {
    const SpinGuard guard(lock_);
    Held& held = of(row);
    count(held);
    held = {row, kPageBytes - furthest, 0};
}

void HeldRanges::flush_pending() {
    const SpinGuard guard(lock_);
    for (Held& held : held_) {
        count(held);
        held.row.site = nullptr;
    }
}

void HeldRanges::flush_within(uint32_t attempts) {
    if (lock_.lock_within(attempts)) {
        for (Held& held : held_) {
            count(held);
        }
        lock_.unlock();
    }
}

void HeldRanges::forget() {
    lock_.reset();
    for (Held& held : held_) {
        held = {};
    }
}

}  // namespace numascape
