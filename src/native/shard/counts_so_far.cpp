// SPDX-License-Identifier: Apache-2.0
#include "counts_so_far.h"

#include <bitset>
#include <unordered_map>

#include "shard_reader.h"

namespace numascape {
namespace {

// A set of pages of the window. Most of them are close together.
class PageSet {
  public:
    void insert(uint32_t page) {
        const uint32_t number = page / kPageCountersPerGranule;
        if (granule_ == nullptr || number != number_) {
            number_ = number;
            granule_ = &granules_[number];
        }
        granule_->set(page % kPageCountersPerGranule);
    }
    uint64_t size() const {
        uint64_t pages = 0;
        for (const auto& [number, granule] : granules_) {
            pages += granule.count();
        }
        return pages;
    }

  private:
    using Granule = std::bitset<kPageCountersPerGranule>;
    std::unordered_map<uint32_t, Granule> granules_;
    Granule* granule_ = nullptr;  // of the last page; a map does not move its values
    uint32_t number_ = 0;
};

class Sums {
  public:
    void add(uint32_t page, const CountPair& counts) {
        if ((counts.reads | counts.writes) == 0) {
            return;
        }
        counted_.reads += counts.reads;
        counted_.writes += counts.writes;
        pages_.insert(page);
    }
    void add(const RecordView& record) {
        if (record.type() == RecordType::kThreadEnd) {
            ended_ += 1;
        } else if (record.type() == RecordType::kCounts &&
                   (record.header->flags & kCountsOfLines) == 0) {
            const auto& counts = record.as<CountsRecord>();
            const auto rest = record.rest<CountsRecord>();
            const auto* pairs = reinterpret_cast<const CountPair*>(rest.data());
            for (uint32_t page = 0; page < counts.pages; ++page) {
                add(counts.first_page + page, pairs[page]);
            }
        }
    }
    CountsSoFar result(uint32_t threads) const {
        CountsSoFar out = counted_;
        out.pages = pages_.size();
        out.threads = threads > ended_ ? threads - ended_ : 0;
        return out;
    }

  private:
    CountsSoFar counted_;
    PageSet pages_;
    uint32_t ended_ = 0;
};

}  // namespace

CountsSoFar counts_so_far(const std::string& path) {
    const ShardReader shard(path);
    Sums sums;
    shard.each_record([&](const RecordView& record) { sums.add(record); });
    shard.each_table_entry(
        [&](const ShardReader::TableCount& count) {
            if (!count.of_lines) {
                sums.add(count.page, count.counts);
            }
        },
        [](const ShardReader::TableCounter&) {});
    return sums.result(shard.header().threads);
}

}  // namespace numascape
