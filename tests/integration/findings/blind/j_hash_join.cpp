// SPDX-License-Identifier: Apache-2.0
// label: slots_ = shared, read-mostly
// Why: The constructor, on the main thread, touches all 32 MB of the table. It is filled once, and
// then probed at random places by all threads in each query, which is most of the time.
// action: slots_ = spread | copy | copy or spread | divide
// harm: slots_ = local
// harm: locks_ = pad
// label: orders = partitioned
// Orders joined with customers: one hash table that all threads build, under striped locks, and
// then probe.
//   usage: hash_join [threads] [customers] [orders] [queries]
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <vector>

static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

struct alignas(64) Lock {
    std::atomic_flag held = ATOMIC_FLAG_INIT;
    void lock() {
        while (held.test_and_set(std::memory_order_acquire)) held.wait(true);
    }
    void unlock() {
        held.clear(std::memory_order_release);
        held.notify_one();
    }
};

/// Open addressing within regions of 256 slots; each region is under one of the locks.
class Table {
  public:
    static constexpr uint64_t empty = ~0ull;
    explicit Table(size_t regions) : slots_(regions * region), locks_(1024), regions_(regions) {}

    bool insert(uint64_t key, uint32_t segment) {
        const uint64_t hash = mix(key), home = hash % regions_;
        Lock& lock = locks_[home % locks_.size()];
        lock.lock();
        bool done = false;
        for (size_t k = 0; k < region && !done; ++k) {
            Slot& slot = slots_[home * region + ((hash >> 40) + k) % region];
            if (slot.key == empty) {
                slot = {key, segment};
                done = true;
            }
        }
        lock.unlock();
        return done;
    }

    int find(uint64_t key) const {
        const uint64_t hash = mix(key), home = hash % regions_;
        for (size_t k = 0; k < region; ++k) {
            const Slot& slot = slots_[home * region + ((hash >> 40) + k) % region];
            if (slot.key == key) return int(slot.segment);
            if (slot.key == empty) return -1;
        }
        return -1;
    }

  private:
    static constexpr size_t region = 256;
    struct Slot {
        uint64_t key = empty;
        uint32_t segment = 0;
    };
    std::vector<Slot> slots_;
    std::vector<Lock> locks_;
    size_t regions_;
};

template <class Work>
static uint64_t on_all(int threads, size_t n, Work work) {
    std::vector<std::future<uint64_t>> parts;
    for (int t = 0; t < threads; ++t)
        parts.push_back(
            std::async(std::launch::async, work, n * t / threads, n * (t + 1) / threads));
    uint64_t sum = 0;
    for (auto& part : parts) sum += part.get();
    return sum;
}

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    const size_t customers = argc > 2 ? std::atol(argv[2]) : 1000000;
    const size_t count = argc > 3 ? std::atol(argv[3]) : 2000000;
    const int queries = argc > 4 ? std::atoi(argv[4]) : 4;

    Table table(customers * 2 / 256 + 380);
    std::unique_ptr<uint32_t[]> orders(new uint32_t[count]);
    const uint64_t inserted = on_all(threads, customers, [&](size_t first, size_t last) {
        uint64_t done = 0;
        for (size_t c = first; c < last; ++c) done += table.insert(c * 7 + 3, uint32_t(mix(c) % 5));
        return done;
    });
    on_all(threads, count, [&](size_t first, size_t last) {
        for (size_t o = first; o < last; ++o)
            orders[o] = uint32_t(mix(o) % (customers + customers / 8));
        return uint64_t(0);
    });
    uint64_t total = 0;
    for (int q = 0; q < queries; ++q)
        total += on_all(threads, count, [&, q](size_t first, size_t last) {
            uint64_t hits = 0;
            for (size_t o = first; o < last; ++o)
                hits += table.find(uint64_t(orders[o]) * 7 + 3) == q % 5;
            return hits;
        });
    std::printf("customers %lu joined %lu\n", (unsigned long)inserted, (unsigned long)total);
}
