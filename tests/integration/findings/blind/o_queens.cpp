// SPDX-License-Identifier: Apache-2.0
// Threads steal tasks from each other. Their counters, and those of the search, share lines.
// label: workers_ = false sharing of cache lines
// action: workers_ = pad
// label: search = true sharing of cache lines
// label: search = false sharing of cache lines
// action: search = pad | divide
// minor: solutions_ = shared, written | false sharing of cache lines
// action: solutions_ = divide | pad | spread | none
// harm: solutions_ = local
// queens - N queens by work stealing; the solutions are collected and fingerprinted.
//   queens [threads] [n]
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

struct Task {
    uint32_t cols, diag, anti;
    int8_t row;
    uint8_t board[16];
};

struct Solution {
    uint8_t board[16];
    uint32_t worker;
    uint32_t serial;
    uint64_t hash;
};

struct Worker {
    std::mutex lock;
    std::deque<Task> tasks;
    uint64_t visited = 0;
    uint64_t stolen = 0;
};

class Search {
  public:
    Search(int n, int workers) : n_(n), workers_(workers), solutions_(1u << 17) {
        workers_[0].tasks.push_back(Task{});
    }

    void work(int me) {
        Task t;
        while (open_.load(std::memory_order_acquire) > 0) {
            if (pop(me, t) || steal(me, t)) {
                if (t.row < kSplit)
                    expand(me, t);
                else
                    solve(me, t.row, t.cols, t.diag, t.anti, t.board);
                open_.fetch_sub(1, std::memory_order_acq_rel);
            } else
                std::this_thread::yield();
        }
    }

    void report() const {
        uint64_t visited = 0, sum = 0;
        uint32_t n = found_.load();
        for (const Worker& w : workers_) visited += w.visited;
        for (uint32_t i = 0; i < n; i++) sum += solutions_[i].hash;
        std::printf("n %d solutions %u nodes %lu checksum %016lx\n", n_, n, visited, sum);
    }

  private:
    static constexpr int kSplit = 4;

    bool pop(int me, Task& t) {
        Worker& w = workers_[me];
        std::lock_guard<std::mutex> g(w.lock);
        if (w.tasks.empty()) return false;
        t = w.tasks.back();
        w.tasks.pop_back();
        return true;
    }

    bool steal(int me, Task& t) {
        for (size_t k = 1; k < workers_.size(); k++) {
            Worker& v = workers_[(me + k) % workers_.size()];
            std::lock_guard<std::mutex> g(v.lock);
            if (v.tasks.empty()) continue;
            t = v.tasks.front();
            v.tasks.pop_front();
            workers_[me].stolen++;
            return true;
        }
        return false;
    }

    void expand(int me, const Task& t) {
        Worker& w = workers_[me];
        w.visited++;
        for (uint32_t free = ~(t.cols | t.diag | t.anti) & ((1u << n_) - 1); free;
             free &= free - 1) {
            uint32_t bit = free & -free;
            Task c = t;
            c.board[int(c.row++)] = uint8_t(__builtin_ctz(bit));
            c.cols |= bit;
            c.diag = (t.diag | bit) << 1;
            c.anti = (t.anti | bit) >> 1;
            open_.fetch_add(1, std::memory_order_relaxed);
            std::lock_guard<std::mutex> g(w.lock);
            w.tasks.push_back(c);
        }
    }

    void solve(int me, int row, uint32_t cols, uint32_t diag, uint32_t anti, uint8_t* board) {
        workers_[me].visited++;
        if (row == n_) {
            record(me, board);
            return;
        }
        for (uint32_t free = ~(cols | diag | anti) & ((1u << n_) - 1); free; free &= free - 1) {
            uint32_t bit = free & -free;
            board[row] = uint8_t(__builtin_ctz(bit));
            solve(me, row + 1, cols | bit, (diag | bit) << 1, (anti | bit) >> 1, board);
        }
    }

    void record(int me, const uint8_t* board) {
        uint32_t slot = found_.fetch_add(1, std::memory_order_relaxed);
        Solution& s = solutions_[slot];
        std::memcpy(s.board, board, sizeof s.board);
        uint64_t h = 1469598103934665603ull;
        for (int i = 0; i < n_; i++) h = (h ^ board[i]) * 1099511628211ull;
        s.worker = uint32_t(me);
        s.serial = slot;
        s.hash = h;
    }

    const int n_;
    std::atomic<long> open_{1};  // tasks queued or running, the root is one
    std::atomic<uint32_t> found_{0};
    std::vector<Worker> workers_;
    std::vector<Solution> solutions_;
};

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    const int n = argc > 2 ? std::atoi(argv[2]) : 13;

    Search search(n, threads);
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++) pool.emplace_back(&Search::work, &search, t);
    for (auto& th : pool) th.join();
    search.report();
}
