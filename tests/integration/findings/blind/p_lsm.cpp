// SPDX-License-Identifier: Apache-2.0
// Threads write runs, other threads merge them, and new threads look entries up.
// label: runs_ = producer and consumer | remote first touch
// called: runs_ = run | runs
// action: runs_ = local | divide | spread
// harm: runs_ = copy
// label: level_ = shared, read-mostly | partitioned | remote first touch | producer and consumer
// called: level_ = out
// minor: level_ = false sharing of cache lines
// action: level_ = spread | divide | pad
// minor: memtable = partitioned | cache-resident
// action: memtable = none
// harm: memtable = spread
// minor: bloom_ = shared, read-mostly | cache-resident | serial first touch
// action: bloom_ = copy | none
// Log-structured store: ingest sorted runs, compact them by key range,
// then serve point lookups.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

struct Entry {
    uint64_t key;
    uint32_t seq;
    uint32_t len;
    char value[16];
};

using Run = std::vector<Entry>;

static void parallel(int n, const std::function<void(int)>& f) {
    std::vector<std::thread> ts;
    for (int i = 0; i < n; i++) ts.emplace_back(f, i);
    for (auto& t : ts) t.join();
}

static uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
}

class Store {
  public:
    explicit Store(int shards)
        : shards_(shards), runs_(shards), level_(shards), bloom_(kBloomBits / 64) {}

    int shard_of(uint64_t key) const { return int((unsigned __int128)key * shards_ >> 64); }

    // Writer w logs its own clients' updates; a full memtable becomes one
    // run per key range.
    void ingest(int w, int updates) {
        std::vector<Entry> memtable;
        memtable.reserve(kMemtable);
        uint64_t s = 1000 + w;
        for (int i = 0; i < updates; i++) {
            s = s * 6364136223846793005ull + 1442695040888963407ull;
            Entry e{};
            e.key = mix((s >> 33) % kKeySpace);
            e.seq = uint32_t(i);
            e.len = 16;
            std::memcpy(e.value, &s, 8);
            memtable.push_back(e);
            if (memtable.size() == kMemtable || i + 1 == updates) {
                flush(w, memtable);
                memtable.clear();
            }
        }
    }

    void compact(int shard) {
        size_t total = 0;
        for (auto& writer : runs_)
            for (auto& run : writer)
                if (!run.empty() && shard_of(run[0].key) == shard) total += run.size();
        Run& out = level_[shard];
        out.reserve(total);

        struct Cursor {
            const Entry *at, *end;
            bool operator<(const Cursor& o) const {
                return at->key != o.at->key ? at->key > o.at->key : at->seq < o.at->seq;
            }
        };
        std::vector<Cursor> heap;
        for (auto& writer : runs_)
            for (auto& run : writer)
                if (!run.empty() && shard_of(run[0].key) == shard)
                    heap.push_back({run.data(), run.data() + run.size()});
        std::make_heap(heap.begin(), heap.end());
        while (!heap.empty()) {
            std::pop_heap(heap.begin(), heap.end());
            Cursor& c = heap.back();
            if (out.empty() || out.back().key != c.at->key) out.push_back(*c.at);
            if (++c.at == c.end)
                heap.pop_back();
            else
                std::push_heap(heap.begin(), heap.end());
        }
    }

    void build_filter() {
        for (auto& l : level_)
            for (auto& e : l)
                for (int h = 0; h < 3; h++) {
                    uint64_t b = mix(e.key + h) % kBloomBits;
                    bloom_[b / 64] |= 1ull << (b % 64);
                }
        for (auto& writer : runs_) std::vector<Run>().swap(writer);
    }

    const Entry* get(uint64_t key) const {
        for (int h = 0; h < 3; h++) {
            uint64_t b = mix(key + h) % kBloomBits;
            if (!(bloom_[b / 64] >> (b % 64) & 1)) return nullptr;
        }
        const Run& l = level_[shard_of(key)];
        auto it = std::lower_bound(l.begin(), l.end(), key,
                                   [](const Entry& e, uint64_t k) { return e.key < k; });
        return it != l.end() && it->key == key ? &*it : nullptr;
    }

    static constexpr uint64_t kKeySpace = 600000;

  private:
    static constexpr size_t kMemtable = 32768;
    static constexpr uint64_t kBloomBits = 4u << 20;

    void flush(int w, std::vector<Entry>& m) {
        std::sort(m.begin(), m.end(), [](const Entry& a, const Entry& b) {
            return a.key != b.key ? a.key < b.key : a.seq > b.seq;
        });
        auto from = m.begin();
        for (int s = 0; s < shards_; s++) {
            auto to =
                std::find_if(from, m.end(), [&](const Entry& e) { return shard_of(e.key) != s; });
            runs_[w].emplace_back(from, to);
            from = to;
        }
    }

    int shards_;
    std::vector<std::vector<Run>> runs_;  // by writer
    std::vector<Run> level_;              // by key range
    std::vector<uint64_t> bloom_;
};

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    Store store(threads);
    std::vector<uint64_t> found(threads);

    parallel(threads, [&](int w) { store.ingest(w, 800000 / threads); });
    parallel(threads, [&](int s) { store.compact(s); });
    store.build_filter();
    parallel(threads, [&](int c) {
        uint64_t s = 77 + c, sum = 0;
        for (int i = 0; i < 2400000 / threads; i++) {
            s = s * 6364136223846793005ull + 1442695040888963407ull;
            if (const Entry* e = store.get(mix((s >> 33) % (2 * Store::kKeySpace))))
                sum += e->len + (e->key & 15);
        }
        found[c] = sum;
    });
    uint64_t sum = 0;
    for (uint64_t f : found) sum += f;
    std::printf("lsm: checksum %llu\n", (unsigned long long)sum);
}
