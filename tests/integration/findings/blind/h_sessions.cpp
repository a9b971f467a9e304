// SPDX-License-Identifier: Apache-2.0
// label: slots_ = shared, written
// Why: 11.5 MB of session records, constructed by main, then read and written by every worker at
// random: no division helps, so spread the pages.
// action: slots_ = spread
// harm: slots_ = local | copy | pad
// Labels of what needs no action, added after the first look:
// label: table = cache-resident | true sharing of cache lines
// Why: The locks: 16 KB, which all threads use again and again.
// action: table = none | divide
// label: b = producer and consumer
// Why: In the author's words, batches are produced by main and consumed once by some worker.
// action: b = none
// Session service: a pool of workers takes requests in small batches off a
// queue and updates the session record of the user concerned.
//   usage: sessions [requests] [workers]
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Session {
    uint64_t user = 0;
    uint32_t hits = 0, flags = 0;
    uint64_t last_seen = 0;
    std::array<uint32_t, 16> recent{};
    std::array<char, 96> cart{};
    uint64_t spent = 0;
};

struct alignas(64) Stripe {
    std::mutex m;
};

struct Request {
    uint32_t user;
    uint16_t op;
    uint16_t arg;
};
using Batch = std::vector<Request>;

class SessionTable {
  public:
    explicit SessionTable(size_t n) : slots_(n) {
        for (size_t i = 0; i < n; ++i) slots_[i].user = i;
    }
    void apply(const Request& r, uint64_t now) {
        size_t i = (r.user * 2654435761u) % slots_.size();
        std::lock_guard g(stripes_[i % stripes_.size()].m);
        Session& s = slots_[i];
        s.recent[s.hits % s.recent.size()] = r.arg;
        s.hits++;
        s.last_seen = now;
        switch (r.op & 3) {
            case 0:
                s.flags ^= 1u << (r.arg & 31);
                break;
            case 1:
                std::memset(s.cart.data(), r.arg & 0x7f, s.cart.size());
                break;
            case 2:
                s.spent += r.arg;
                break;
            case 3:
                for (uint32_t v : s.recent) s.spent += v & 7;
                break;
        }
    }
    uint64_t checksum() const {
        uint64_t h = 0;
        for (size_t i = 0; i < slots_.size(); i += 5) h += slots_[i].hits * (i + 1);
        return h;
    }
    size_t bytes() const { return slots_.size() * sizeof(Session); }

  private:
    std::vector<Session> slots_;
    std::array<Stripe, 256> stripes_;
};

class WorkQueue {
  public:
    void push(std::unique_ptr<Batch> b) {
        {
            std::lock_guard g(m_);
            q_.push_back(std::move(b));
        }
        cv_.notify_one();
    }
    std::unique_ptr<Batch> pop() {
        std::unique_lock g(m_);
        cv_.wait(g, [&] { return closed_ || !q_.empty(); });
        if (q_.empty()) return nullptr;
        auto b = std::move(q_.front());
        q_.pop_front();
        return b;
    }
    void close() {
        {
            std::lock_guard g(m_);
            closed_ = true;
        }
        cv_.notify_all();
    }

  private:
    std::mutex m_;
    std::condition_variable cv_;
    std::deque<std::unique_ptr<Batch>> q_;
    bool closed_ = false;
};

int main(int argc, char** argv) {
    size_t requests = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000000;
    int workers = argc > 2 ? std::atoi(argv[2]) : 6;
    auto table = std::make_unique<SessionTable>(60000);
    WorkQueue queue;

    std::vector<std::thread> pool;
    for (int w = 0; w < workers; ++w)
        pool.emplace_back([&] {
            uint64_t now = 0;
            while (auto batch = queue.pop())
                for (const Request& r : *batch) table->apply(r, ++now);
        });

    uint64_t x = 88172645463325252ull;
    for (size_t done = 0; done < requests;) {
        auto b = std::make_unique<Batch>();
        for (int i = 0; i < 256 && done < requests; ++i, ++done) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            b->push_back({uint32_t(x >> 32), uint16_t(x), uint16_t(x >> 16)});
        }
        queue.push(std::move(b));
    }
    queue.close();
    for (auto& t : pool) t.join();
    std::printf("table %zu bytes, requests %zu, checksum %llu\n", table->bytes(), requests,
                (unsigned long long)table->checksum());
}
