// SPDX-License-Identifier: Apache-2.0
// label: entry = shared, written
// Why: Entries of 160 bytes, allocated by whichever thread stores a key first; afterwards all
// threads read and write all entries at random. No thread owns a part, so the pages should be
// spread.
// action: entry = spread
// harm: entry = local | copy | divide
// label: stats = false sharing of cache lines
// Why: The counters of the threads have 24 bytes each, side by side, and change at every
// request.
// action: stats = pad
// Corrected after the first look, by reading the source again: the heads of the chains were
// forgotten.
// label: heads_ = shared, written
// Why: 730 KB, read for each request and written for each new key, by all threads at random.
// action: heads_ = spread
// Labels of what needs no action, added after the first look:
// label: shards = cache-resident
// action: shards = none
// Key-value store: 64 shards with a lock each, chained entries, requests with a few popular keys.
//   usage: kv_chains [keys] [requests] [threads]
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

struct Entry {
    uint64_t key;
    uint32_t version, length;
    Entry* next;
    std::array<char, 136> value;
};

class Shard {
  public:
    explicit Shard(size_t buckets) : heads_(buckets, nullptr) {}
    ~Shard() {
        for (Entry* e : heads_)
            while (e) {
                Entry* next = e->next;
                delete e;
                e = next;
            }
    }
    bool get(uint64_t key, std::array<char, 136>& out) {
        std::lock_guard hold(lock_);
        for (Entry* e = heads_[slot(key)]; e; e = e->next)
            if (e->key == key) {
                out = e->value;
                return true;
            }
        return false;
    }
    bool put(uint64_t key, const char* text, size_t length) {
        std::lock_guard hold(lock_);
        for (Entry* e = heads_[slot(key)]; e; e = e->next)
            if (e->key == key) {
                write(e, text, length);
                return false;
            }
        Entry* entry = new Entry;
        entry->key = key;
        entry->version = 0;
        entry->next = heads_[slot(key)];
        heads_[slot(key)] = entry;
        write(entry, text, length);
        return true;
    }

  private:
    size_t slot(uint64_t key) const { return (key * 0x9E3779B97F4A7C15ull >> 20) % heads_.size(); }
    static void write(Entry* e, const char* text, size_t length) {
        e->version++;
        e->length = uint32_t(length);
        std::memcpy(e->value.data(), text, length);
    }
    alignas(64) std::mutex lock_;
    std::vector<Entry*> heads_;
};

struct Stats {
    uint64_t hits = 0, misses = 0, stores = 0;
};

int main(int argc, char** argv) {
    const uint64_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 60000;
    const int requests = argc > 2 ? std::atoi(argv[2]) : 800000;
    const int count = argc > 3 ? std::atoi(argv[3]) : 4;
    std::vector<std::unique_ptr<Shard>> shards;
    for (int s = 0; s < 64; ++s) shards.push_back(std::make_unique<Shard>(keys / 64 + 1));
    std::vector<Stats> stats(count);
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t)
        threads.emplace_back([&, t] {
            std::mt19937_64 random(1000 + t);
            std::array<char, 136> value{};
            Stats& mine = stats[t];
            for (int r = 0; r < requests / count; ++r) {
                const uint64_t draw = random(), key = draw % keys;
                Shard& shard = *shards[key % 64];
                if (draw >> 60 < 10) {
                    if (shard.get(key, value))
                        mine.hits++;
                    else
                        mine.misses++;
                } else {
                    value[draw >> 57 & 127] = char(draw >> 32);
                    shard.put(key, value.data(), 100 + key % 32);
                    mine.stores++;
                }
            }
        });
    for (auto& thread : threads) thread.join();
    Stats all;
    for (const Stats& s : stats) {
        all.hits += s.hits;
        all.misses += s.misses;
        all.stores += s.stores;
    }
    std::printf("%llu hits, %llu misses, %llu stores\n", (unsigned long long)all.hits,
                (unsigned long long)all.misses, (unsigned long long)all.stores);
}
