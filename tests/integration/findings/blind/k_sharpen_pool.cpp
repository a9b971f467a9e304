// SPDX-License-Identifier: Apache-2.0
// Sharpens an image several times with a pool of workers: blur by rows, blur by columns, and add
// the difference. Each stage puts one task for every 25 rows into the queue, and a worker that is
// free takes the next one. So a page is used by a different worker in each stage and each round.
// The image is read by the main thread, and the other buffers are cleared by it, too; but first
// touch alone cannot mend it, as no page has an owner.
// label: image = pages change users
// action: image = even parts | divide | spread
// harm: image = local
// label: across = pages change users
// action: across = even parts | divide | spread
// harm: across = local
// label: blurred = pages change users
// action: blurred = even parts | divide | spread
// harm: blurred = local
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace {

constexpr int WIDTH = 2400, HEIGHT = 2000, BAND = 25, ROUNDS = 4;

class Pool {
  public:
    explicit Pool(unsigned threads) {
        for (unsigned t = 0; t < threads; t++) workers.emplace_back([this] { serve(); });
    }
    ~Pool() {
        {
            std::lock_guard guard(lock);
            closing = true;
        }
        ready.notify_all();
        for (std::thread& worker : workers) worker.join();
    }
    void submit(std::function<void()> task) {
        {
            std::lock_guard guard(lock);
            tasks.push(std::move(task));
            open++;
        }
        ready.notify_one();
    }
    void wait() {
        std::unique_lock guard(lock);
        idle.wait(guard, [this] { return open == 0; });
    }

  private:
    void serve() {
        std::unique_lock guard(lock);
        for (;;) {
            ready.wait(guard, [this] { return closing || !tasks.empty(); });
            if (tasks.empty()) return;
            std::function<void()> task = std::move(tasks.front());
            tasks.pop();
            guard.unlock();
            task();
            guard.lock();
            if (--open == 0) idle.notify_all();
        }
    }
    std::mutex lock;
    std::condition_variable ready, idle;
    std::queue<std::function<void()>> tasks;
    int open = 0;
    bool closing = false;
    std::vector<std::thread> workers;
};

void blur_rows(const float* in, float* out, int from, int to) {
    for (int y = from; y < to; y++)
        for (int x = 0; x < WIDTH; x++) {
            float sum = 0;
            for (int d = -2; d <= 2; d++) sum += in[y * WIDTH + std::clamp(x + d, 0, WIDTH - 1)];
            out[y * WIDTH + x] = sum * 0.2f;
        }
}

void blur_columns(const float* in, float* out, int from, int to) {
    for (int y = from; y < to; y++)
        for (int x = 0; x < WIDTH; x++) {
            float sum = 0;
            for (int d = -2; d <= 2; d++) sum += in[std::clamp(y + d, 0, HEIGHT - 1) * WIDTH + x];
            out[y * WIDTH + x] = sum * 0.2f;
        }
}

void add_difference(float* image, const float* blurred, int from, int to) {
    for (int i = from * WIDTH; i < to * WIDTH; i++)
        image[i] = std::clamp(image[i] + 0.3f * (image[i] - blurred[i]), 0.0f, 255.0f);
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<float> image(WIDTH * HEIGHT), across(WIDTH * HEIGHT), blurred(WIDTH * HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        image[i] = static_cast<float>((i % WIDTH) * (i / WIDTH) % 251);
    {
        Pool pool(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 4);
        for (int round = 0; round < ROUNDS; round++) {
            for (int y = 0; y < HEIGHT; y += BAND)
                pool.submit([&, y] { blur_rows(image.data(), across.data(), y, y + BAND); });
            pool.wait();
            for (int y = 0; y < HEIGHT; y += BAND)
                pool.submit([&, y] { blur_columns(across.data(), blurred.data(), y, y + BAND); });
            pool.wait();
            for (int y = 0; y < HEIGHT; y += BAND)
                pool.submit([&, y] { add_difference(image.data(), blurred.data(), y, y + BAND); });
            pool.wait();
        }
    }
    double sum = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i += 101) sum += static_cast<double>(image[i]);
    std::printf("checksum %.3f\n", sum);
}
