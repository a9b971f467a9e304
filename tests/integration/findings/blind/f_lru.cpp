// SPDX-License-Identifier: Apache-2.0
// An LRU cache with sixteen shards, each with a lock, a hash index and a list through its entries.
// std::thread (main is one of four clients); the shard of a key depends on its hash, not on the
// client.
// label: entries = shared, written
// Why: any client hits any shard, reads the value and moves the entry to the front, so no page
// belongs to a thread.
// action: entries = spread
// harm: entries = copy
// label: buckets = shared, written
// Why: all clients look up and relink all chains, as with the entries.
// action: buckets = spread
// label: shards = shared, written
// Why: every client takes every lock and moves every list head; a shard has its own lines, so
// padding does not help.
// action: shards = none|divide
// label: run = one node serves all
// Why: main constructs the whole cache, so its node serves all clients.
// action: run = spread
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int kClients = 4;
constexpr std::uint32_t kShards = 16;
constexpr std::int32_t kCapacity = 2048;
constexpr std::uint32_t kBuckets = 4096;
constexpr std::uint32_t kKeys = 60000;
constexpr int kOperations = 200000;
constexpr std::int32_t kNone = -1;

using Value = std::array<std::uint64_t, 30>;

struct Entry {
    std::uint32_t key;
    std::int32_t older, newer, chain;
    Value value;
};

std::uint32_t hashed(std::uint32_t key) {
    key *= 0x85ebca6bu;
    key ^= key >> 13;
    return key * 0xc2b2ae35u;
}

void compute(std::uint32_t key, Value& value) {
    for (std::size_t i = 0; i < value.size(); i++) value[i] = key * 1000003ull + i;
}

class alignas(128) Shard {
  public:
    Shard() : entries(kCapacity), buckets(kBuckets, kNone) {}

    // Calls `use` with the value, under the lock.
    template <typename Use>
    void get(std::uint32_t key, std::uint32_t hash, Use use) {
        std::lock_guard guard(lock_);
        std::int32_t& bucket = buckets[hash % kBuckets];
        for (std::int32_t at = bucket; at != kNone; at = entries[at].chain) {
            if (entries[at].key == key) {
                if (at != newest_) {
                    unlink(at);
                    to_front(at);
                }
                use(std::as_const(entries[at].value));
                return;
            }
        }
        std::int32_t at = used_ < kCapacity ? used_++ : evict();
        entries[at].key = key;
        compute(key, entries[at].value);
        entries[at].chain = bucket;
        bucket = at;
        to_front(at);
        use(std::as_const(entries[at].value));
    }

  private:
    void unlink(std::int32_t at) {
        Entry& entry = entries[at];
        if (entry.newer != kNone)
            entries[entry.newer].older = entry.older;
        else
            newest_ = entry.older;
        if (entry.older != kNone)
            entries[entry.older].newer = entry.newer;
        else
            oldest_ = entry.newer;
    }

    void to_front(std::int32_t at) {
        entries[at].older = newest_;
        entries[at].newer = kNone;
        if (newest_ != kNone) entries[newest_].newer = at;
        newest_ = at;
        if (oldest_ == kNone) oldest_ = at;
    }

    std::int32_t evict() {
        std::int32_t at = oldest_;
        unlink(at);
        std::int32_t* link = &buckets[hashed(entries[at].key) / kShards % kBuckets];
        while (*link != at) link = &entries[*link].chain;
        *link = entries[at].chain;
        return at;
    }

    std::mutex lock_;
    std::int32_t newest_ = kNone, oldest_ = kNone, used_ = 0;
    std::vector<Entry> entries;
    std::vector<std::int32_t> buckets;
};

Shard shards[kShards];

// Small keys are more frequent, as in a real cache.
std::uint32_t next_key(std::uint64_t& state) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    std::uint64_t one = (state >> 33) % kKeys, two = (state >> 13) % kKeys;
    return static_cast<std::uint32_t>(one * two / kKeys);
}

}  // namespace

int main() {
    std::uint64_t wrong[kClients * 16] = {};
    auto client = [&](int id) {
        std::uint64_t state = 1234 + static_cast<std::uint64_t>(id), bad = 0;
        for (int i = 0; i < kOperations; i++) {
            std::uint32_t key = next_key(state), hash = hashed(key);
            shards[hash % kShards].get(key, hash / kShards, [&](const Value& value) {
                for (std::size_t k = 0; k < value.size(); k++)
                    bad += value[k] != key * 1000003ull + k;
            });
        }
        wrong[id * 16] = bad;
    };
    std::vector<std::thread> threads;
    for (int id = 1; id < kClients; id++) threads.emplace_back(client, id);
    client(0);
    for (std::thread& thread : threads) thread.join();
    std::uint64_t bad = 0;
    for (std::uint64_t count : wrong) bad += count;
    std::printf("%llu wrong values\n", static_cast<unsigned long long>(bad));
    return bad == 0 ? 0 : 1;
}
