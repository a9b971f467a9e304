// SPDX-License-Identifier: Apache-2.0
// A key-value store in memory: 64 shards, each an open-addressing table with a lock. The main
// thread makes the shards. The workers serve requests for random keys, half reads and half writes,
// so every worker reads and writes all pages of all tables. Each worker counts its requests in its
// own entry of an array of small records, which lie side by side in one or two cache lines. The
// heads of the shards (locks and pointers) are 4 KiB in all: they bounce between caches, and their
// page does not matter.
// label: shards.slots = shared, written
// action: shards.slots = spread
// harm: shards.slots = local
// label: stats = false sharing of cache lines
// action: stats = pad
// label: shards = cache-resident | true sharing of cache lines
// action: shards = none | divide
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

struct Slot {
    std::uint64_t key;
    std::uint64_t value;
};

constexpr std::size_t SHARDS = 64, SLOTS = 1 << 15, KEYS = 1'000'000, REQUESTS = 1'600'000;

struct alignas(64) Shard {
    std::mutex lock;
    std::vector<Slot> slots;
};

struct Stats {
    std::uint64_t gets, puts, found;
};

std::uint64_t mix(std::uint64_t h) {
    h ^= h >> 31;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

class Store {
  public:
    Store() : shards(SHARDS) {
        for (Shard& shard : shards) shard.slots.resize(SLOTS);
        for (std::uint64_t key = 1; key <= KEYS; key++) add(key, key);
    }

    bool add(std::uint64_t key, std::uint64_t amount) {
        std::uint64_t h = mix(key);
        Shard& shard = shards[h % SHARDS];
        std::lock_guard guard(shard.lock);
        Slot& slot = find(shard, key, h);
        slot.key = key;
        slot.value += amount;
        return true;
    }

    std::uint64_t get(std::uint64_t key) {
        std::uint64_t h = mix(key);
        Shard& shard = shards[h % SHARDS];
        std::lock_guard guard(shard.lock);
        return find(shard, key, h).value;
    }

    std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const Shard& shard : shards)
            for (const Slot& slot : shard.slots) sum += slot.value;
        return sum;
    }

  private:
    static Slot& find(Shard& shard, std::uint64_t key, std::uint64_t h) {
        std::size_t at = (h >> 20) % SLOTS;
        while (shard.slots[at].key != 0 && shard.slots[at].key != key) at = (at + 1) % SLOTS;
        return shard.slots[at];
    }

    std::vector<Shard> shards;
};

}  // namespace

int main(int argc, char** argv) {
    const std::size_t threads = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 4;
    Store store;
    std::vector<Stats> stats(threads);
    std::vector<std::thread> workers;
    for (std::size_t id = 0; id < threads; id++)
        workers.emplace_back([&store, &stats, id, threads] {
            std::uint64_t state = id + 1;
            for (std::size_t r = 0; r < REQUESTS / threads; r++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                std::uint64_t key = (state >> 33) % KEYS + 1;
                if (state >> 63) {
                    stats[id].puts++;
                    store.add(key, 3);
                } else {
                    stats[id].gets++;
                    if (store.get(key) > 0) stats[id].found++;
                }
            }
        });
    for (std::thread& worker : workers) worker.join();
    std::uint64_t gets = 0, puts = 0, found = 0;
    for (const Stats& s : stats) gets += s.gets, puts += s.puts, found += s.found;
    std::printf("%lu gets, %lu puts, %lu found, total %lu\n", gets, puts, found, store.total());
}
