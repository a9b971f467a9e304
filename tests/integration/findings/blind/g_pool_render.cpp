// SPDX-License-Identifier: Apache-2.0
// A renderer with a pool of six std::threads and a queue of std::function: each frame is cut into
// bands, and a free worker takes the next one. The image collects light over all frames.
// label: image = pages change users
// Why: whoever is free adds to a band, so a band has other workers in other frames.
// action: image = divide|spread
// harm: image = copy
// label: heights = shared, read-mostly
// Why: all workers march through the whole terrain, which main filled, and only read it.
// action: heights = copy or spread
// harm: heights = local
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace {

constexpr int kWorkers = 6;
constexpr int kWidth = 512;
constexpr int kHeight = 384;
constexpr int kRowsOfBand = 8;
constexpr int kFrames = 10;
constexpr int kTerrain = 1024;

class Pool {
  public:
    Pool() {
        for (int i = 0; i < kWorkers; i++) workers_.emplace_back([this] { work(); });
    }
    ~Pool() {
        {
            std::lock_guard lock(mutex_);
            ending_ = true;
        }
        more_.notify_all();
        for (std::thread& worker : workers_) worker.join();
    }
    void submit(std::function<void()> job) {
        {
            std::lock_guard lock(mutex_);
            jobs_.push(std::move(job));
            open_++;
        }
        more_.notify_one();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return open_ == 0; });
    }

  private:
    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            more_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
            if (jobs_.empty()) return;
            std::function<void()> job = std::move(jobs_.front());
            jobs_.pop();
            lock.unlock();
            job();
            lock.lock();
            if (--open_ == 0) done_.notify_all();
        }
    }
    std::mutex mutex_;
    std::condition_variable more_, done_;
    std::queue<std::function<void()>> jobs_;
    std::vector<std::thread> workers_;
    int open_ = 0;
    bool ending_ = false;
};

struct Scene {
    std::vector<float> heights;
    std::vector<float> image;
};

float march(const Scene& scene, int frame, int x, int y) {
    // Rays start all over the terrain, as cameras of a survey do.
    std::uint32_t start = (static_cast<std::uint32_t>(y * kWidth + x) + frame * 77u) * 2654435761u;
    float px = static_cast<float>(start % kTerrain),
          pz = static_cast<float>((start >> 12) % kTerrain);
    float height = 1.5f;
    for (int step = 0; step < 16; step++) {
        px += 1.7f;
        pz += 0.9f;
        height -= 0.09f;
        int ix = static_cast<int>(px) % kTerrain, iz = static_cast<int>(pz) % kTerrain;
        if (scene.heights[static_cast<std::size_t>(iz) * kTerrain + ix] > height)
            return static_cast<float>(16 - step) / 16;
    }
    return 0;
}

void render_band(Scene& scene, int frame, int first) {
    for (int y = first; y < first + kRowsOfBand; y++) {
        for (int x = 0; x < kWidth; x++) {
            float* pixel = &scene.image[(static_cast<std::size_t>(y) * kWidth + x) * 3];
            float light = march(scene, frame, x, y);
            pixel[0] += light;
            pixel[1] += light * 0.8f;
            pixel[2] += light * 0.5f;
        }
    }
}

}  // namespace

int main() {
    Scene scene;
    scene.heights.resize(static_cast<std::size_t>(kTerrain) * kTerrain);
    std::uint32_t state = 11;
    for (float& height : scene.heights) {
        state = state * 1664525u + 1013904223u;
        height = static_cast<float>(state >> 8) / static_cast<float>(1 << 24);
    }
    scene.image.resize(static_cast<std::size_t>(kWidth) * kHeight * 3);
    {
        Pool pool;
        for (int frame = 0; frame < kFrames; frame++) {
            for (int y = 0; y < kHeight; y += kRowsOfBand)
                pool.submit([&scene, frame, y] { render_band(scene, frame, y); });
            pool.wait();
        }
    }
    double sum = 0;
    for (float value : scene.image) sum += value;
    std::printf("light %.3f\n", sum);
    return 0;
}
