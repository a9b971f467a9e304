// SPDX-License-Identifier: Apache-2.0
// LSM-tree compaction: main flushes sorted memtables, and each round merges them into sixteen key
// ranges. std::thread (main is one of four) with std::barrier; an atomic counter gives the ranges
// out.
// label: merged = pages change users
// Why: whoever takes a range writes its new table, and in the next round any other thread reads it.
// action: merged = divide
// harm: merged = copy
// label: memtable = producer and consumer
// Why: main refills the same buffer in every round, and the four threads each read a part of it
// once.
// action: memtable = none|spread
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr int kRanges = 16;
constexpr int kRounds = 10;
constexpr std::size_t kFlush = 98304;
constexpr std::uint64_t kRangeWidth = 1ull << 36;

struct Entry {
    std::uint64_t key;
    std::uint64_t value;
};

struct Table {
    Entry* entries = nullptr;
    std::size_t size = 0;
};

class Store {
  public:
    Store() : memtable(new Entry[kFlush]) {}
    ~Store() {
        delete[] memtable;
        for (Table& table : level_) delete[] table.entries;
    }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // Keys ascend by steps whose mean makes them fill all ranges; a part of them repeats older
    // keys.
    void flush(int round) {
        std::uint64_t key = static_cast<std::uint64_t>(round) * 977;
        std::uint64_t state = 4711 + static_cast<std::uint64_t>(round);
        const std::uint64_t step = kRangeWidth / (kFlush / kRanges) * 2;
        std::size_t n = 0;
        int range = 0;
        starts_[0] = 0;
        while (n < kFlush && range < kRanges) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            key += 1 + (state >> 33) % step;
            while (range < kRanges && key >= (range + 1) * kRangeWidth) starts_[++range] = n;
            if (range == kRanges) break;
            memtable[n++] = {key, (key << 8) | static_cast<std::uint64_t>(round)};
        }
        while (range < kRanges) starts_[++range] = n;
        flushed_ += n;
        next_.store(0);
    }

    void compact() {
        for (int range = next_.fetch_add(1); range < kRanges; range = next_.fetch_add(1)) {
            merge_range(range);
        }
    }

    bool sound() const {
        std::size_t total = 0;
        for (const Table& table : level_) {
            for (std::size_t i = 0; i < table.size; i++) {
                if (i > 0 && table.entries[i - 1].key >= table.entries[i].key) return false;
                if (table.entries[i].value >> 8 != (table.entries[i].key & (~0ull >> 8)))
                    return false;
            }
            total += table.size;
        }
        std::printf("%zu entries of %zu flushed\n", total, flushed_);
        return total > flushed_ * 9 / 10 && total <= flushed_;
    }

  private:
    void merge_range(int range) {
        const Entry* fresh = memtable + starts_[range];
        const Entry* fresh_end = memtable + starts_[range + 1];
        Table old = level_[range];
        const Entry* aged = old.entries;
        const Entry* aged_end = aged + old.size;
        Entry* merged = new Entry[old.size + static_cast<std::size_t>(fresh_end - fresh)];
        std::size_t n = 0;
        while (fresh != fresh_end && aged != aged_end) {
            if (aged->key < fresh->key) {
                merged[n++] = *aged++;
            } else {
                if (aged->key == fresh->key) ++aged;
                merged[n++] = *fresh++;
            }
        }
        while (fresh != fresh_end) merged[n++] = *fresh++;
        while (aged != aged_end) merged[n++] = *aged++;
        delete[] old.entries;
        level_[range] = {merged, n};
    }

    Entry* memtable;
    Table level_[kRanges];
    std::size_t starts_[kRanges + 1] = {};
    std::size_t flushed_ = 0;
    std::atomic<int> next_{0};
};

}  // namespace

int main() {
    Store store;
    std::barrier step(kThreads);
    std::vector<std::thread> threads;
    for (int t = 1; t < kThreads; t++) {
        threads.emplace_back([&] {
            for (int round = 0; round < kRounds; round++) {
                step.arrive_and_wait();
                store.compact();
                step.arrive_and_wait();
            }
        });
    }
    for (int round = 0; round < kRounds; round++) {
        store.flush(round);
        step.arrive_and_wait();
        store.compact();
        step.arrive_and_wait();
    }
    for (std::thread& thread : threads) thread.join();
    return store.sound() ? 0 : 1;
}
