// SPDX-License-Identifier: Apache-2.0
// A mergesort on a hand-written work-stealing pool, which sorts the same data in four orders.
// std::thread (main is worker 0); each worker has a deque, and idle workers steal the oldest task.
// label: data = pages change users
// Why: main fills it alone, and then each sort gives its pieces to whichever thread has stolen
// them.
// action: data = divide|spread
// harm: data = copy
// label: tmp = pages change users
// Why: the merges write it first, and in each level and sort another thread may merge the same
// pages.
// action: tmp = divide|spread
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kWorkers = 4;
constexpr std::size_t kItems = 1u << 19;
constexpr std::size_t kLeaf = 1u << 13;

struct Task {
    std::size_t low, high;
    std::atomic<bool> done{false};
};

struct alignas(128) Deque {
    std::mutex mutex;
    std::deque<Task*> tasks;
};

class Sorter {
  public:
    Sorter()
        : data(std::make_unique_for_overwrite<std::uint64_t[]>(kItems)),
          tmp(std::make_unique_for_overwrite<std::uint64_t[]>(kItems)) {
        std::uint64_t state = 88172645463325252ull;
        for (std::size_t i = 0; i < kItems; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            data[i] = state;
            sum_ += state;
        }
        for (int w = 1; w < kWorkers; w++) {
            helpers_.emplace_back([this, w] {
                while (!stop_.load(std::memory_order_acquire)) {
                    waiting_.wait(0);  // sleeps while no task is in any deque
                    help(w);
                }
            });
        }
    }

    void stop() {
        stop_.store(true, std::memory_order_release);
        waiting_.fetch_add(1);
        waiting_.notify_all();
        for (std::thread& helper : helpers_) helper.join();
    }

    void sort(std::uint64_t mask) {
        mask_ = mask;
        run(0, 0, kItems);
    }

    bool sorted() const {
        std::uint64_t sum = data[0];
        for (std::size_t i = 1; i < kItems; i++) {
            if ((data[i - 1] ^ mask_) > (data[i] ^ mask_)) return false;
            sum += data[i];
        }
        return sum == sum_;
    }

  private:
    void push(int worker, Task* task) {
        std::lock_guard guard(deques_[worker].mutex);
        deques_[worker].tasks.push_back(task);
        waiting_.fetch_add(1);
        waiting_.notify_one();
    }

    Task* take(int from, bool own) {
        std::lock_guard guard(deques_[from].mutex);
        auto& tasks = deques_[from].tasks;
        if (tasks.empty()) return nullptr;
        Task* task = own ? tasks.back() : tasks.front();
        own ? tasks.pop_back() : tasks.pop_front();
        waiting_.fetch_sub(1);
        return task;
    }

    bool help(int worker) {
        for (int i = 0; i < kWorkers; i++) {
            if (Task* task = take((worker + i) % kWorkers, i == 0)) {
                run(worker, task->low, task->high);
                task->done.store(true, std::memory_order_release);
                return true;
            }
        }
        return false;
    }

    void run(int worker, std::size_t low, std::size_t high) {
        const std::uint64_t mask = mask_;
        auto less = [mask](std::uint64_t a, std::uint64_t b) { return (a ^ mask) < (b ^ mask); };
        if (high - low <= kLeaf) {
            std::sort(&data[low], &data[low] + (high - low), less);
            return;
        }
        std::size_t middle = low + (high - low) / 2;
        Task right{middle, high};
        push(worker, &right);
        run(worker, low, middle);
        while (!right.done.load(std::memory_order_acquire)) {
            if (!help(worker)) std::this_thread::yield();
        }
        merge(low, middle, high, mask);
    }

    void merge(std::size_t low, std::size_t middle, std::size_t high, std::uint64_t mask) {
        std::size_t left = low, right = middle, to = low;
        while (left < middle && right < high) {
            if ((data[right] ^ mask) < (data[left] ^ mask)) {
                tmp[to++] = data[right++];
            } else {
                tmp[to++] = data[left++];
            }
        }
        while (left < middle) tmp[to++] = data[left++];
        for (std::size_t i = low; i < to; i++) data[i] = tmp[i];
    }

    std::unique_ptr<std::uint64_t[]> data;
    std::unique_ptr<std::uint64_t[]> tmp;
    std::uint64_t sum_ = 0;
    std::uint64_t mask_ = 0;
    Deque deques_[kWorkers];
    std::atomic<int> waiting_{0};
    std::atomic<bool> stop_{false};
    std::vector<std::thread> helpers_;
};

}  // namespace

int main() {
    auto sorter = std::make_unique<Sorter>();
    bool good = true;
    for (std::uint64_t mask : {0ull, ~0ull, 0xf0f0f0f0f0f0f0f0ull, 0x3c3c3c3c00000000ull}) {
        sorter->sort(mask);
        good = good && sorter->sorted();
    }
    sorter->stop();
    std::printf("%s\n", good ? "sorted" : "wrong");
    return good ? 0 : 1;
}
