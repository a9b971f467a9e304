// SPDX-License-Identifier: Apache-2.0
// Audio blocks go through three stages, each in its own thread: decode, filter, and meter.
// std::thread; two queues of blocks, each for one producer and one consumer, with condition
// variables.
// label: decoded = producer and consumer
// Why: the decoder writes each block, and the filter reads it, again and again in the same blocks.
// action: decoded = none|local
// harm: decoded = copy
// label: filtered = producer and consumer
// Why: the filter writes each block, and the meter reads it.
// action: filtered = none|local
// harm: filtered = copy
// label: history = partitioned
// Why: only the meter uses it, and it allocates and fills it itself.
// action: history = none
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace {

constexpr int kBlocks = 32;
constexpr int kFrames = 8192;
constexpr int kTotal = 600;
constexpr int kBins = 1 << 18;

// Says which blocks are full; the samples themselves are elsewhere.
class Queue {
  public:
    int begin_write() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return written_ - read_ < kBlocks; });
        return written_ % kBlocks;
    }
    void end_write() {
        std::lock_guard lock(mutex_);
        written_++;
        changed_.notify_all();
    }
    int begin_read() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return written_ > read_; });
        return read_ % kBlocks;
    }
    void end_read() {
        std::lock_guard lock(mutex_);
        read_++;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int written_ = 0;
    int read_ = 0;
};

float* decoded;
float* filtered;
Queue to_filter;
Queue to_meter;

float* blocks() {
    void* memory = std::aligned_alloc(4096, sizeof(float) * kBlocks * kFrames);
    if (memory == nullptr) std::abort();
    return static_cast<float*>(memory);
}

void decode() {
    std::uint32_t state = 7;
    for (int n = 0; n < kTotal; n++) {
        float* block = decoded + static_cast<std::size_t>(to_filter.begin_write()) * kFrames;
        for (int i = 0; i < kFrames; i++) {
            state = state * 1664525u + 1013904223u;
            block[i] = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
        }
        to_filter.end_write();
    }
}

void filter() {
    float x1 = 0, x2 = 0, y1 = 0, y2 = 0;
    for (int n = 0; n < kTotal; n++) {
        const float* in = decoded + static_cast<std::size_t>(to_filter.begin_read()) * kFrames;
        float* out = filtered + static_cast<std::size_t>(to_meter.begin_write()) * kFrames;
        for (int i = 0; i < kFrames; i++) {
            float y = 0.2f * in[i] + 0.4f * x1 + 0.2f * x2 + 0.5f * y1 - 0.3f * y2;
            x2 = x1;
            x1 = in[i];
            y2 = y1;
            y1 = y;
            out[i] = y;
        }
        to_filter.end_read();
        to_meter.end_write();
    }
}

void meter(double& power, std::uint32_t& highest) {
    auto* history = static_cast<std::uint32_t*>(std::malloc(sizeof(std::uint32_t) * kBins));
    if (history == nullptr) std::abort();
    for (int i = 0; i < kBins; i++) history[i] = 0;
    for (int n = 0; n < kTotal; n++) {
        const float* in = filtered + static_cast<std::size_t>(to_meter.begin_read()) * kFrames;
        for (int i = 0; i < kFrames; i++) {
            power += in[i] * in[i];
            auto bin = static_cast<std::uint32_t>((in[i] + 4.0f) * (kBins / 8));
            history[bin % kBins]++;
        }
        to_meter.end_read();
    }
    for (int i = 0; i < kBins; i++) highest = history[i] > highest ? history[i] : highest;
    std::free(history);
}

}  // namespace

int main() {
    decoded = blocks();
    filtered = blocks();
    double power = 0;
    std::uint32_t highest = 0;
    std::array<std::thread, 3> stages{std::thread(decode), std::thread(filter),
                                      std::thread([&] { meter(power, highest); })};
    for (std::thread& stage : stages) stage.join();
    std::printf("power %.3f, highest bin %u\n", power / (double(kTotal) * kFrames), highest);
    std::free(decoded);
    std::free(filtered);
    return 0;
}
