// SPDX-License-Identifier: Apache-2.0
// One thread decodes frames into a ring of 256 frames of 64 KiB, and the other threads take the
// next frame that is ready and compute its fingerprint. The main thread clears the ring. Each frame
// is written by the producer and then read by one consumer, a different one each time: whatever the
// node of its page, one of them is remote. Best on the producer's node, or spread over those of the
// consumers.
// label: ring.frames = producer and consumer
// action: ring.frames = local | spread | none
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t WORDS = 8192, SLOTS = 256, FRAMES = 2400;

class Ring {
  public:
    Ring() : frames(SLOTS * WORDS), full(SLOTS) {}

    void produce() {
        std::uint64_t state = 7;
        for (std::size_t n = 0; n < FRAMES; n++) {
            std::uint64_t* frame = wait_for(n, false);
            for (std::size_t w = 0; w < WORDS; w++) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                frame[w] = state;
            }
            set(n, true);
        }
    }

    std::uint64_t consume() {
        std::uint64_t sum = 0;
        for (std::size_t n; (n = taken.fetch_add(1)) < FRAMES;) {
            const std::uint64_t* frame = wait_for(n, true);
            std::uint64_t print = 1469598103934665603u;
            for (std::size_t w = 0; w < WORDS; w++)
                for (int shift = 0; shift < 64; shift += 16)
                    print = (print ^ ((frame[w] >> shift) & 0xffff)) * 1099511628211u;
            sum += print >> 8;
            set(n, false);
        }
        return sum;
    }

  private:
    std::uint64_t* wait_for(std::size_t n, bool state) {
        std::unique_lock guard(lock);
        // A consumer waits for its own frame: the slot must also have the right turn.
        changed.wait(guard, [&] { return full[n % SLOTS] == 2 * (n / SLOTS) + (state ? 1 : 0); });
        return &frames[n % SLOTS * WORDS];
    }
    void set(std::size_t n, bool filled) {
        {
            std::lock_guard guard(lock);
            full[n % SLOTS] = 2 * (n / SLOTS) + (filled ? 1 : 2);
        }
        changed.notify_all();
    }
    std::vector<std::uint64_t> frames;
    std::vector<std::size_t> full;
    std::atomic<std::size_t> taken{0};
    std::mutex lock;
    std::condition_variable changed;
};

}  // namespace

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    Ring ring;
    std::atomic<std::uint64_t> sum{0};
    std::vector<std::thread> workers;
    workers.emplace_back([&] { ring.produce(); });
    for (int t = 1; t < threads || t < 2; t++) workers.emplace_back([&] { sum += ring.consume(); });
    for (std::thread& worker : workers) worker.join();
    std::printf("fingerprint %lu\n", sum.load());
}
