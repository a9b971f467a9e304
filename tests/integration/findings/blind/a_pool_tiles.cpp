// SPDX-License-Identifier: Apache-2.0
// Water on a terrain of 512 Ki cells (8 MiB) in 64 tiles. In each step a thread pool with a queue
// of std::function gets one task per tile, and whichever worker is free takes the next: a tile has
// one user in a step and another in the next. The constructor of the cells ran in main.
// label: cells = pages change users
// action: cells = divide
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace {

constexpr int TILES = 64;
constexpr int TILE = 8192;
constexpr int STEPS = 16;

struct Cell {
    Cell() : height(10), water(1), sediment(0), hardness(0.5F) {}
    float height, water, sediment, hardness;
};

class Pool {
  public:
    explicit Pool(int workers) {
        for (int w = 0; w < workers; w++) threads.emplace_back([this] { work(); });
    }
    ~Pool() {
        {
            std::lock_guard lock(mutex);
            stopping = true;
        }
        wake.notify_all();
        for (auto& thread : threads) thread.join();
    }
    void submit(std::function<void()> task) {
        {
            std::lock_guard lock(mutex);
            tasks.push(std::move(task));
            pending++;
        }
        wake.notify_one();
    }
    void wait() {
        std::unique_lock lock(mutex);
        idle.wait(lock, [this] { return pending == 0; });
    }

  private:
    void work() {
        std::unique_lock lock(mutex);
        for (;;) {
            wake.wait(lock, [this] { return stopping || !tasks.empty(); });
            if (tasks.empty()) return;
            auto task = std::move(tasks.front());
            tasks.pop();
            lock.unlock();
            task();
            lock.lock();
            if (--pending == 0) idle.notify_all();
        }
    }
    std::mutex mutex;
    std::condition_variable wake, idle;
    std::queue<std::function<void()>> tasks;
    std::vector<std::thread> threads;
    int pending = 0;
    bool stopping = false;
};

void erode(Cell* tile) {
    for (int sweep = 0; sweep < 4; sweep++) {
        float flow = 0;
        for (int c = 0; c < TILE; c++) {
            Cell& cell = tile[c];
            const float taken = 0.01F * cell.water * cell.hardness;
            cell.height -= taken;
            cell.sediment += taken;
            flow = 0.5F * (flow + cell.water);
            cell.water = 0.5F * (cell.water + flow) + 0.001F * cell.sediment;
        }
    }
}

}  // namespace

int main() {
    const char* chosen = std::getenv("THREADS");
    auto* cells = new Cell[TILES * TILE];
    {
        Pool pool(chosen ? std::atoi(chosen) : 4);
        for (int step = 0; step < STEPS; step++) {
            for (int t = 0; t < TILES; t++) {
                pool.submit([tile = cells + t * TILE] { erode(tile); });
            }
            pool.wait();
        }
    }
    double height = 0;
    for (int c = 0; c < TILES * TILE; c++) height += cells[c].height;
    std::printf("height %.3f\n", height);
    delete[] cells;
    return 0;
}
