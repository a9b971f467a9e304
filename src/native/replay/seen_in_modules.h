// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <utility>

#include "count_records.h"
#include "replay.h"
#include "summed_rows.h"

namespace numascape {

// The parts of pages of executables and libraries that samples saw in use. They show which
// variables were used.
class SeenInModules {
  public:
    void add(uint32_t owner, uint32_t page, const SampleRecord& sample) {
        const SeenParts& seen = sample.seen;
        rows_.add({owner, page, seen.lines, static_cast<uint32_t>(seen.first()),
                   static_cast<uint32_t>(seen.last())},
                  sample.weight);
    }
    void finish(SeenInModuleColumns& out) {
        rows_.take([&](const Key& key, uint64_t times) {
            out.owner.push_back(key.owner);
            out.page.push_back(key.page);
            out.lines.push_back(key.lines);
            out.first.push_back(key.first);
            out.last.push_back(key.last);
            out.times.push_back(times);
        });
    }

  private:
    struct Key {
        uint32_t owner, page;
        uint64_t lines;
        uint32_t first, last;
        auto operator<=>(const Key&) const = default;
        uint32_t list() const { return owner; }
    };
    SummedRows<Key, uint64_t> rows_;
};

}  // namespace numascape
