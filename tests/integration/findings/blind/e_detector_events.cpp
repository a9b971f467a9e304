// SPDX-License-Identifier: Apache-2.0
// Analysis of detector events. Blocks of the raw file are decoded by threads in turn: block b by
// thread b % threads. The analysis then runs many times over the events, by other threads, which
// divide them into contiguous parts. So most pages were touched first by a thread that does not use
// them: the events should be decoded in the parts of the analysis. The calibration has one number
// per detector cell; all threads look up cells at random, and nobody writes.
// label: events = remote first touch
// action: events = local
// label: calibration = shared, read-mostly
// action: calibration = copy or spread
// harm: calibration = local
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

constexpr size_t kBlock = 2048;
constexpr size_t kBlocks = 256;
constexpr size_t kEvents = kBlock * kBlocks;
constexpr uint32_t kCells = 1 << 21;
constexpr int kPasses = 16;

struct Event {
    uint32_t cell;
    float amplitude;
    float time;
    float energy;
    float background;
    uint32_t flags;
    uint64_t trigger;
};

static uint32_t scramble(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

static void decode(Event* events, size_t block) {
    for (size_t e = block * kBlock; e < (block + 1) * kBlock; e++) {
        uint32_t word = scramble(static_cast<uint32_t>(e));
        events[e] = {word % kCells, 1.0f + static_cast<float>(word >> 24), 0, 0, 0.5f, word & 7, e};
    }
}

static double analyse(Event* events, size_t from, size_t to, const float* calibration) {
    double sum = 0;
    for (int pass = 0; pass < kPasses; pass++) {
        for (size_t e = from; e < to; e++) {
            Event& event = events[e];
            event.energy = (event.amplitude - event.background) * calibration[event.cell];
            event.background += 0.01f * (event.energy > 64);
            event.time += 0.25f;
            if (event.flags != 3) sum += event.energy;
        }
    }
    return sum;
}

static void run_threads(size_t threads, const std::function<void(size_t)>& work) {
    std::vector<std::thread> crew;
    for (size_t t = 0; t < threads; t++) crew.emplace_back(work, t);
    for (std::thread& thread : crew) thread.join();
}

int main(int argc, char** argv) {
    const size_t threads = argc > 1 ? std::atoi(argv[1]) : 4;
    if (threads < 1) return 2;
    std::vector<float> calibration(kCells);
    for (uint32_t c = 0; c < kCells; c++) {
        calibration[c] = 0.9f + 0.0001f * static_cast<float>(c % 2000);
    }
    std::unique_ptr<Event[]> events(new Event[kEvents]);
    std::vector<double> sums(threads);
    run_threads(threads, [&](size_t t) {
        for (size_t block = t; block < kBlocks; block += threads) decode(events.get(), block);
    });
    run_threads(threads, [&](size_t t) {
        sums[t] = analyse(events.get(), kEvents * t / threads, kEvents * (t + 1) / threads,
                          calibration.data());
    });
    double sum = 0;
    for (double part : sums) sum += part;
    std::printf("energy %.3f\n", sum);
}
