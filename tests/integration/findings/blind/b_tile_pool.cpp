// SPDX-License-Identifier: Apache-2.0
// Smooths an image with a pool of threads. The main thread decodes the image and queues one job per
// band of 32 rows; whichever worker is free takes the next one. One worker at a time uses a page,
// but in each pass another one.
// label: image = pages change users
// action: image = divide
// label: scratch = pages change users
// action: scratch = divide
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

constexpr int width = 1024, height = 1024, band = 32, passes = 14;

class Pool {
  public:
    explicit Pool(int threads) {
        for (int t = 0; t < threads; ++t) workers_.emplace_back([this] { work(); });
    }

    ~Pool() {
        {
            std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
        for (std::thread& worker : workers_) worker.join();
    }

    void submit(std::function<void()> job) {
        {
            std::lock_guard lock(mutex_);
            jobs_.push(std::move(job));
            ++open_;
        }
        changed_.notify_one();
    }

    void wait() {
        std::unique_lock lock(mutex_);
        finished_.wait(lock, [this] { return open_ == 0; });
    }

  private:
    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
            if (jobs_.empty()) return;
            std::function<void()> job = std::move(jobs_.front());
            jobs_.pop();
            lock.unlock();
            job();
            lock.lock();
            if (--open_ == 0) finished_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_, finished_;
    std::queue<std::function<void()>> jobs_;
    std::vector<std::thread> workers_;
    int open_ = 0;
    bool closed_ = false;
};

static void smooth(const std::vector<int32_t>& from, std::vector<int32_t>& to, int first) {
    for (int y = first; y < first + band; ++y) {
        const int32_t* above = &from[size_t(y > 0 ? y - 1 : y) * width];
        const int32_t* here = &from[size_t(y) * width];
        const int32_t* below = &from[size_t(y < height - 1 ? y + 1 : y) * width];
        int32_t* out = &to[size_t(y) * width];
        for (int x = 1; x < width - 1; ++x) {
            int32_t sides = here[x - 1] + here[x + 1] + above[x] + below[x];
            int32_t corners = above[x - 1] + above[x + 1] + below[x - 1] + below[x + 1];
            int32_t mean = (4 * here[x] + 2 * sides + corners) / 16;
            out[x] = abs(mean - here[x]) > 200 ? here[x] : mean;
        }
    }
}

int main() {
    const char* wanted = std::getenv("THREADS");
    Pool pool(wanted ? std::atoi(wanted) : 4);
    std::vector<int32_t> image(width * height), scratch(width * height);
    uint32_t state = 5;
    for (int32_t& pixel : image) {
        state = state * 1664525U + 1013904223U;
        pixel = int32_t(state >> 22);
    }
    for (int pass = 0; pass < passes; ++pass) {
        for (int y = 0; y < height; y += band) {
            pool.submit([&image, &scratch, y] { smooth(image, scratch, y); });
        }
        pool.wait();
        for (int y = 0; y < height; y += band) {
            pool.submit([&image, &scratch, y] { smooth(scratch, image, y); });
        }
        pool.wait();
    }
    int64_t sum = 0;
    for (size_t i = 0; i < image.size(); i += 101) sum += image[i];
    std::printf("sum %lld\n", static_cast<long long>(sum));
}
