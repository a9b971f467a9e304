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

// The cache lines that samples saw threads use, for the pages that several threads use.
class SeenLines {
  public:
    struct Circumstances {
        bool alone;   // no other thread of the process lived
        bool writes;  // the code writes
    };
    void add(uint32_t owner, uint32_t page, uint32_t thread, const SampleRecord& sample,
             Circumstances when);
    // A line has its own rows if several threads had samples in which they used no other line of
    // the page. All other samples are in the rows of the page.
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
