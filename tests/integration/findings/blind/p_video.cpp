// SPDX-License-Identifier: Apache-2.0
// A reader hands frames to any of three workers, which all read the same table.
// label: pixels = producer and consumer | pages change users | serial first touch | shared, written
// action: pixels = divide | local
// label: gain = shared, read-mostly | serial first touch
// called: gain = gain_
// action: gain = copy | spread
// harm: gain = local
// minor: smooth_ = partitioned
// action: smooth_ = none
// harm: smooth_ = spread
// minor: edges_ = partitioned
// action: edges_ = none
// harm: edges_ = spread
// minor: scores = cache-resident | false sharing of cache lines
// called: scores = scores_
// action: scores = none
// minor: filled = true sharing of cache lines
// action: filled = none
// minor: empty = true sharing of cache lines
// action: empty = none
// minor: run = load imbalance
// Video analytics: one thread reads frames from the camera, the others
// denoise them, compute gradients and a motion score.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

constexpr int kWidth = 1280, kHeight = 720, kFrames = 280;
constexpr size_t kPixels = size_t(kWidth) * kHeight;

struct Frame {
    int number = 0;
    std::vector<uint8_t> pixels = std::vector<uint8_t>(kPixels);
};
using FramePtr = std::unique_ptr<Frame>;

class FrameQueue {
  public:
    explicit FrameQueue(size_t limit) : limit_(limit) {}

    void push(FramePtr f) {
        std::unique_lock lock(mutex_);
        not_full_.wait(lock, [&] { return items_.size() < limit_; });
        items_.push_back(std::move(f));
        not_empty_.notify_one();
    }

    FramePtr pop() {
        std::unique_lock lock(mutex_);
        not_empty_.wait(lock, [&] { return !items_.empty() || closed_; });
        if (items_.empty()) return nullptr;
        FramePtr f = std::move(items_.front());
        items_.pop_front();
        not_full_.notify_one();
        return f;
    }

    void close() {
        std::lock_guard lock(mutex_);
        closed_ = true;
        not_empty_.notify_all();
    }

  private:
    size_t limit_;
    bool closed_ = false;
    std::deque<FramePtr> items_;
    std::mutex mutex_;
    std::condition_variable not_full_, not_empty_;
};

class Camera {
  public:
    void read(Frame& f, int number) {
        f.number = number;
        uint64_t s = 0x9E3779B97F4A7C15ull * (number + 1);
        for (size_t i = 0; i < kPixels; i += 8) {
            s ^= s << 13;
            s ^= s >> 7;
            s ^= s << 17;
            for (int b = 0; b < 8; b++)
                f.pixels[i + b] =
                    uint8_t(96 + ((i + 3 * number) % kWidth) / 16 + (s >> (8 * b)) % 16);
        }
    }
};

class Analyzer {
  public:
    Analyzer(const std::vector<float>& gain, std::vector<double>& scores)
        : gain_(gain), scores_(scores), smooth_(kPixels), edges_(kPixels) {}

    void process(const Frame& f) {
        for (int y = 1; y < kHeight - 1; y++) {
            const uint8_t* up = &f.pixels[size_t(y - 1) * kWidth];
            const uint8_t* mid = up + kWidth;
            const uint8_t* down = mid + kWidth;
            const float* g = &gain_[size_t(y) * kWidth];
            float* out = &smooth_[size_t(y) * kWidth];
            for (int x = 1; x < kWidth - 1; x++)
                out[x] =
                    g[x] * float(4 * mid[x] + mid[x - 1] + mid[x + 1] + up[x] + down[x]) * 0.125f;
        }
        double total = 0;
        for (int y = 2; y < kHeight - 2; y++) {
            const float* s = &smooth_[size_t(y) * kWidth];
            float* e = &edges_[size_t(y) * kWidth];
            float row = 0;
            for (int x = 2; x < kWidth - 2; x++) {
                float dx = s[x + 1] - s[x - 1], dy = s[x + kWidth] - s[x - kWidth];
                e[x] = 0.75f * e[x] + 0.25f * (dx * dx + dy * dy);
                row += dx * dx;
            }
            total += row;
        }
        scores_[f.number] = total / kPixels;
    }

  private:
    const std::vector<float>& gain_;
    std::vector<double>& scores_;
    std::vector<float> smooth_, edges_;
};

int main(int argc, char** argv) {
    int threads = std::max(2, argc > 1 ? std::atoi(argv[1]) : 4);
    int workers = threads - 1;

    std::vector<float> gain(kPixels);
    for (int y = 0; y < kHeight; y++)
        for (int x = 0; x < kWidth; x++)
            gain[size_t(y) * kWidth + x] =
                1.0f + 1e-6f * float((x - 640) * (x - 640) + (y - 360) * (y - 360));

    std::vector<double> scores(kFrames);
    FrameQueue filled(2 * workers), empty(4 * workers + 4);
    for (int i = 0; i < 3 * workers; i++) empty.push(std::make_unique<Frame>());

    std::thread reader([&] {
        Camera camera;
        for (int n = 0; n < kFrames; n++) {
            FramePtr f = empty.pop();
            camera.read(*f, n);
            filled.push(std::move(f));
        }
        filled.close();
    });

    std::vector<std::thread> pool;
    for (int w = 0; w < workers; w++) {
        pool.emplace_back([&] {
            Analyzer analyzer(gain, scores);
            while (FramePtr f = filled.pop()) {
                analyzer.process(*f);
                empty.push(std::move(f));
            }
        });
    }
    reader.join();
    for (auto& t : pool) t.join();

    double sum = 0;
    for (int n = 0; n < kFrames; n++) sum += scores[n] * (1 + n % 3);
    std::printf("video: %d frames, checksum %.6f\n", kFrames, sum);
}
