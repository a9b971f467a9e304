// SPDX-License-Identifier: Apache-2.0
// A store of log entries with one shard per thread. A shard collects entries in a memory table,
// sorts it when it is full, and keeps it as a run; at the end it merges its runs. Each thread
// constructs its own shard, and nobody else looks into it: all memory is private. Only the number
// of entries and a checksum go back to main.
// label: run = no NUMA problem
// action: run = none
// label: table_ = partitioned
// label: table_ = cache-resident
// label: merged_ = partitioned
// label: heads = cache-resident
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

constexpr uint64_t kEntries = 1400000;
constexpr size_t kTableSize = 16384;

struct Entry {
    uint64_t key;
    uint64_t value;

    bool operator<(const Entry& other) const { return key < other.key; }
};

class Shard {
  public:
    void put(Entry entry) {
        table_.push_back(entry);
        if (table_.size() == kTableSize) flush();
    }

    void compact() {
        flush();
        // The next entry of each run, the smallest key on top.
        using Head = std::pair<uint64_t, size_t>;
        std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
        std::vector<size_t> positions(runs_.size());
        for (size_t run = 0; run < runs_.size(); run++) heads.emplace(runs_[run][0].key, run);
        while (!heads.empty()) {
            size_t run = heads.top().second;
            heads.pop();
            merged_.push_back(runs_[run][positions[run]++]);
            if (positions[run] < runs_[run].size())
                heads.emplace(runs_[run][positions[run]].key, run);
        }
        runs_.clear();
    }

    uint64_t checksum() const {
        uint64_t sum = 0;
        for (size_t e = 0; e < merged_.size(); e++) sum += merged_[e].value ^ e;
        return sum;
    }

  private:
    void flush() {
        if (table_.empty()) return;
        std::sort(table_.begin(), table_.end());
        runs_.push_back(std::move(table_));
        table_ = {};
        table_.reserve(kTableSize);
    }

    std::vector<Entry> table_;
    std::vector<std::vector<Entry>> runs_;
    std::vector<Entry> merged_;
};

static uint64_t serve(uint64_t from, uint64_t to) {
    Shard shard;
    for (uint64_t e = from; e < to; e++) {
        uint64_t key = (e + 1) * 0x9e3779b97f4a7c15u;
        shard.put({key ^ (key >> 29), e});
    }
    shard.compact();
    return shard.checksum();
}

int main(int argc, char** argv) {
    const uint64_t threads = argc > 1 ? std::atoi(argv[1]) : 4;
    if (threads < 1) return 2;
    std::vector<uint64_t> sums(threads);
    std::vector<std::thread> servers;
    for (uint64_t t = 0; t < threads; t++) {
        servers.emplace_back([&sums, t, threads] {
            sums[t] = serve(kEntries * t / threads, kEntries * (t + 1) / threads);
        });
    }
    uint64_t sum = 0;
    for (uint64_t t = 0; t < threads; t++) {
        servers[t].join();
        sum += sums[t];
    }
    std::printf("checksum %llu\n", static_cast<unsigned long long>(sum));
}
