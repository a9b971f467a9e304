// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "block_counters.h"
#include "replay.h"
#include "shard_reader.h"
#include "summed_rows.h"

namespace numascape {

// Combines how often sites ran (block counters) with the owners of the pages that they touched
// (samples).
class SiteCounts {
  public:
    // A description from this process or from one that it was forked from; the later one is valid.
    void describe(const RecordView& block);
    void add_counter(uint64_t number, uint32_t phase, const uint64_t (&words)[2]);
    // The instructions of all executions of the block whose counter this is; 0: not known.
    uint64_t instructions(uint64_t number, const uint64_t (&words)[2]) const;
    void add_sample(uint32_t site, uint32_t phase, uint32_t owner, uint32_t page, double weight,
                    double whole);
    // A sample on a page that the owners of a group share (see SharedSampleColumns).
    void add_shared(uint32_t site, uint32_t phase, uint32_t group, double weight);
    // One sampled access by the instruction at `pc`, which has no block: its site.
    uint32_t add_access(uint64_t pc, uint32_t phase, bool is_write);
    // Whether the accesses of the site may be writes.
    bool writes(uint32_t site) const;
    void finish(SiteColumns& sites, SampleColumns& samples, SharedSampleColumns& shared);

  private:
    // Samples of eight blocks are in one list.
    static uint32_t list_of(uint32_t site) { return site >> (kPlaceBits + 3); }
    struct Sample {
        uint32_t site, phase, owner, page;
        // Compared by two words, because millions of rows are sorted.
        auto operator<=>(const Sample& other) const { return words() <=> other.words(); }
        bool operator==(const Sample&) const = default;
        std::pair<uint64_t, uint64_t> words() const {
            return {uint64_t{site} << 32 | phase, uint64_t{owner} << 32 | page};
        }
        uint32_t list() const { return list_of(site); }
    };
    // The two words are sums of executions or of accesses, as the block's description says.
    struct Sums {
        uint64_t executions = 0;
        OwnCounter own{0, 0};
    };
    Sums sums(uint32_t number, uint32_t phase) const;

    std::unordered_map<uint32_t, std::vector<BlockAccess>> blocks_;
    std::unordered_map<uint32_t, uint32_t> instructions_;              // of one execution, by block
    std::map<uint32_t, std::unordered_map<uint64_t, Sums>> counters_;  // by phase
    struct Weights {
        double all = 0;
        double whole = 0;
        Weights& operator+=(const Weights& other) {
            all += other.all;
            whole += other.whole;
            return *this;
        }
    };
    struct SharedSample {
        uint32_t site, phase, group;
        auto operator<=>(const SharedSample&) const = default;
        uint32_t list() const { return list_of(site); }
    };
    SummedRows<Sample, Weights> samples_;
    SummedRows<SharedSample, double> shared_;
    struct Sampled {
        uint32_t site;
        std::map<uint32_t, CountPair> counts;  // by phase
    };
    std::unordered_map<uint64_t, Sampled> sampled_;  // by pc
};

}  // namespace numascape
