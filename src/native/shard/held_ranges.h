// SPDX-License-Identifier: Apache-2.0
//
// Coalesces consecutive rows on the same pages. If the accesses of a row are pages apart, as in a
// column of a matrix, each access costs one page counter. The next column is usually on the same
// pages. The first row is counted at once, so that pages are touched in time; further rows are only
// added up and counted later. The number of held rows is bounded: a killed process loses them.
#pragma once

#include <cstdint>

#include "page_counters.h"
#include "spin_lock.h"

namespace numascape {

// `count` addresses at distances of `step` bytes. `site` makes `reads` and `writes` accesses to
// each.
struct StridedRow {
    const void* site;
    PageCounter* page_counters;
    uint64_t start;
    uint64_t step;
    uint64_t count;
    uint64_t reads;
    uint64_t writes;
};

// All zero at first.
class HeldRanges {
  public:
    // Must be called on the thread that owns the page counters of the row. False: the caller must
    // count the row and then call `hold`.
    bool add(const StridedRow& row);
    // The row was counted; `furthest` is its largest offset in a page.
    void hold(const StridedRow& row, uint64_t furthest);
    // Counts all held rows and then holds none. Any thread may call it.
    void flush_pending();
    // The same with a limit of attempts for the lock: a thread may have been stopped while it held
    // the lock.
    void flush_within(uint32_t attempts);
    // In the child of a fork.
    void forget();

  private:
    static constexpr uint32_t kRows = 4;
    static constexpr uint64_t kMaxTimes = 1024;

    struct Held {
        StridedRow row;  // without a site: none
        uint64_t room;   // rows that begin fewer bytes further are on the same pages
        uint64_t times;  // not counted yet
    };
    Held& of(const StridedRow& row);
    static void count(Held& held);

    SpinLock lock_;
    Held held_[kRows];
};

}  // namespace numascape
