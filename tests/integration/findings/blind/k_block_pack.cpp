// SPDX-License-Identifier: Apache-2.0
// Packs a stream of blocks with a pool of tasks. Each task makes its block (in place of reading
// it), packs it with its own table of the last places, and frees all. Only the packed size and a
// checksum leave the task. So all memory is allocated, touched and used by one thread, whichever
// takes the task. Nothing is to be done.
// label: block = partitioned
// action: block = none
// label: packed = partitioned
// action: packed = none
// label: last = partitioned
// action: last = none
// label: run = no NUMA problem
// action: run = none
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t BLOCK = 4 << 20, TABLE = 1 << 18, BLOCKS = 24;

std::vector<std::uint8_t> read_block(std::uint32_t number) {
    std::vector<std::uint8_t> block(BLOCK);
    std::uint32_t state = number * 747796405u + 1;
    for (std::size_t i = 0; i < BLOCK; i += 8) {
        state = state * 1664525u + 1013904223u;
        std::uint64_t word = (state >> 16) * 0x0101010101010101u;
        std::memcpy(&block[i], &word, 8);
    }
    return block;
}

std::uint64_t pack_block(std::uint32_t number) {
    std::vector<std::uint8_t> block = read_block(number);
    std::vector<std::uint8_t> packed;
    packed.reserve(BLOCK + BLOCK / 2);
    std::vector<std::uint32_t> last(TABLE);
    std::size_t i = 0;
    while (i + 8 < BLOCK) {
        std::uint32_t word;
        std::memcpy(&word, &block[i], 4);
        std::uint32_t& place = last[word * 2654435761u >> 14];
        std::size_t from = place, length = 0;
        place = static_cast<std::uint32_t>(i);
        while (from < i && length < 64 && i + length < BLOCK &&
               block[from + length] == block[i + length])
            length++;
        if (length < 4) {
            packed.push_back(block[i++]);
            continue;
        }
        packed.push_back(static_cast<std::uint8_t>(length));
        packed.push_back(static_cast<std::uint8_t>((i - from) >> 8));
        packed.push_back(static_cast<std::uint8_t>(i - from));
        i += length;
    }
    std::uint64_t sum = packed.size();
    for (std::uint8_t byte : packed) sum = sum * 31 + byte;
    return sum;
}

class Pool {
  public:
    explicit Pool(unsigned threads) : count(threads) {}
    std::future<std::uint64_t> add(std::function<std::uint64_t()> work) {
        tasks.emplace_back(std::move(work));
        return tasks.back().get_future();
    }
    void run() {
        std::vector<std::thread> workers;
        for (unsigned t = 0; t < count; t++)
            workers.emplace_back([this] {
                for (;;) {
                    std::packaged_task<std::uint64_t()> task;
                    {
                        std::lock_guard guard(lock);
                        if (tasks.empty()) return;
                        task = std::move(tasks.front());
                        tasks.pop_front();
                    }
                    task();
                }
            });
        for (std::thread& worker : workers) worker.join();
    }

  private:
    unsigned count;
    std::mutex lock;
    std::deque<std::packaged_task<std::uint64_t()>> tasks;
};

}  // namespace

int main(int argc, char** argv) {
    Pool pool(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 4);
    std::vector<std::future<std::uint64_t>> results;
    for (std::uint32_t b = 0; b < BLOCKS; b++)
        results.push_back(pool.add([b] { return pack_block(b); }));
    pool.run();
    std::uint64_t checksum = 0;
    for (auto& result : results) checksum ^= result.get();
    std::printf("checksum %lu\n", checksum);
}
