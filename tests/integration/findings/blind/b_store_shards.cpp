// SPDX-License-Identifier: Apache-2.0
// A key-value store of two shards, each served by two of the four threads. The main thread loads
// both shards. Then the two threads of a shard read and update its slots at random, so a page is
// used equally by two threads, and never by the other two.
// label: slots = shared by groups
// action: slots = local
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

constexpr uint32_t slots_per_shard = 1 << 18, operations = 1 << 20;
constexpr int shard_count = 2;

struct Slot {
    uint64_t key = 0;
    std::atomic<uint64_t> value{0};
};

class Shard {
  public:
    explicit Shard(uint64_t seed) : slots(new Slot[slots_per_shard]) {
        for (uint32_t i = 0; i < slots_per_shard; ++i) slots[i].key = seed * i % 1021;
    }

    uint64_t get(uint32_t at) const { return slots[at].key; }

    void add(uint32_t at, uint64_t amount) {
        slots[at].value.fetch_add(amount, std::memory_order_relaxed);
    }

    uint64_t total() const {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < slots_per_shard; i += 32) sum += slots[i].value;
        return sum;
    }

  private:
    std::unique_ptr<Slot[]> slots;
};

static void serve(Shard& shard, uint64_t state) {
    for (uint32_t n = 0; n < operations; ++n) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const uint32_t from = uint32_t(state >> 40) % slots_per_shard;
        const uint32_t to = uint32_t(state) % slots_per_shard;
        shard.add(to, shard.get(from));
    }
}

int main() {
    const char* wanted = std::getenv("THREADS");
    const int threads = wanted ? std::atoi(wanted) : 4;
    std::vector<Shard> shards;
    for (int s = 0; s < shard_count; ++s) shards.emplace_back(uint64_t(s) + 3);

    std::vector<std::thread> servers;
    for (int t = 0; t < threads; ++t) {
        Shard& shard = shards[size_t(t) * shard_count / threads];
        servers.emplace_back([&shard, t] { serve(shard, uint64_t(t) * 7919 + 1); });
    }
    for (std::thread& server : servers) server.join();

    uint64_t sum = 0;
    for (const Shard& shard : shards) sum += shard.total();
    std::printf("sum %llu\n", static_cast<unsigned long long>(sum));
}
