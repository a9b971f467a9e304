// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "count_records.h"
#include "replay.h"
#include "summed_rows.h"

namespace numascape {

// The cache lines in which samples saw threads, for the pages that several threads use.
class SeenLines {
  public:
    struct Circumstances {
        bool alone;   // no other thread of the process lived
        bool writes;  // the code writes
    };
    void add(uint32_t owner, uint32_t page, uint32_t thread, const SampleRecord& sample,
             Circumstances when);
    // A line that several threads use alone in a sample has its own rows; the others are in the
    // row of their page.
    void finish(SeenLineColumns& out);

  private:
    struct Key {
        uint32_t owner, page, line, thread, phase;
        auto operator<=>(const Key&) const = default;
        uint32_t list() const { return owner; }
    };
    struct Seen {
        SeenParts parts;
        uint64_t times = 0;
        uint64_t alone = 0;
        uint64_t writing = 0;
        Seen& operator+=(const Seen& other) {
            parts |= other.parts;
            times += other.times;
            alone += other.alone;
            writing += other.writing;
            return *this;
        }
    };
    using Row = std::pair<Key, Seen>;
    static void finish_page(std::vector<Row>& rows, SeenLineColumns& out);

    SummedRows<Key, Seen> rows_;
};

}  // namespace numascape
