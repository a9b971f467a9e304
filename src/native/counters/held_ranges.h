// SPDX-License-Identifier: Apache-2.0
//
// Rows of accesses that lie pages apart, such as a matrix' columns, cost a slot for each access.
// The next column mostly lies on the same pages: it then is only remembered that there was one
// more. The first is counted, so that pages are touched when they are. Bounded: a killed process
// loses what is held.
#pragma once

#include <cstdint>

#include "page_table.h"
#include "spin_lock.h"

namespace numascape {

// `count` addresses, `step` bytes apart, each with so many reads and writes, by what `site` is.
struct StridedRow {
    const void* site;
    Slot* slots;
    uint64_t start;
    uint64_t step;
    uint64_t count;
    uint64_t reads;
    uint64_t writes;
};

// All zero at first.
class HeldRanges {
  public:
    // On the thread that counts in the row's slots. False: it is to be counted; see hold.
    bool add(const StridedRow& row);
    // The row was counted; `furthest` is its largest offset in a page.
    void hold(const StridedRow& row, uint64_t furthest);
    // Counts what is held and holds nothing, on any thread.
    void settle();
    // The same if that is possible: threads may have been stopped for good.
    void settle_within(uint32_t attempts);
    // In the child of a fork.
    void forget();

  private:
    static constexpr uint32_t kRows = 4;
    static constexpr uint64_t kMostTimes = 1024;

    struct Held {
        StridedRow row;  // without a site: none
        uint64_t room;   // rows that begin so many bytes further are on the same pages
        uint64_t times;  // not counted yet
    };
    Held& of(const StridedRow& row);
    static void count(Held& held);

    SpinLock lock_;
    Held held_[kRows];
};

}  // namespace numascape
