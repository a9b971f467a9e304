// SPDX-License-Identifier: Apache-2.0
// A reader fills frames of a pool and puts them into a queue; the worker that is free first reads
// a frame several times and gives it back.
// label: samples = producer and consumer
// action: samples = spread | local | none
// harm: samples = copy
// label: w.smooth_ = partitioned
// Sensor stream: one reader fills frames, workers filter them and report peaks.
// usage: l_msgq [threads] [frames]
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr size_t kSamples = 128 * 1024;
constexpr size_t kFramesInPool = 192;

struct Frame {
    uint64_t id = 0;
    std::unique_ptr<int16_t[]> samples;
};

template <class T>
class Channel {
  public:
    void put(T v) {
        {
            std::lock_guard<std::mutex> g(m_);
            q_.push_back(v);
        }
        cv_.notify_one();
    }
    bool take(T& v) {
        std::unique_lock<std::mutex> g(m_);
        cv_.wait(g, [this] { return closed_ || !q_.empty(); });
        if (q_.empty()) return false;
        v = q_.front();
        q_.pop_front();
        return true;
    }
    void close() {
        {
            std::lock_guard<std::mutex> g(m_);
            closed_ = true;
        }
        cv_.notify_all();
    }

  private:
    std::mutex m_;
    std::condition_variable cv_;
    std::deque<T> q_;
    bool closed_ = false;
};

class FramePool {
  public:
    Frame* acquire() {
        if (frames_.size() < kFramesInPool) {
            auto f = std::make_unique<Frame>();
            f->samples.reset(new int16_t[kSamples]);
            frames_.push_back(std::move(f));
            return frames_.back().get();
        }
        Frame* f = nullptr;
        idle_.take(f);
        return f;
    }
    void release(Frame* f) { idle_.put(f); }

  private:
    std::vector<std::unique_ptr<Frame>> frames_;
    Channel<Frame*> idle_;
};

void capture(Frame& f, uint64_t id) {
    f.id = id;
    uint32_t s = static_cast<uint32_t>(id * 2654435761u + 1);
    int32_t level = 0;
    for (size_t i = 0; i < kSamples; i++) {
        s = s * 1664525u + 1013904223u;
        level += static_cast<int32_t>(s >> 20) - 2048 - level / 64;
        f.samples[i] = static_cast<int16_t>(level / 8);
    }
}

struct Report {
    uint64_t frames = 0;
    uint64_t digest = 0;
};

class Worker {
  public:
    Worker() : smooth_(kSamples) {}

    void run(Channel<Frame*>& in, FramePool& pool) {
        Frame* f = nullptr;
        Report r;
        while (in.take(f)) {
            r.digest += filter(*f);
            r.frames++;
            pool.release(f);
        }
        report = r;
    }

    Report report;

  private:
    uint64_t filter(const Frame& f) {
        const int16_t* x = f.samples.get();
        int64_t mean = 0;
        for (size_t i = 0; i < kSamples; i++) mean += x[i];
        mean /= static_cast<int64_t>(kSamples);
        for (size_t i = 8; i + 8 < kSamples; i++) {
            int32_t a = 0;
            for (int k = -2; k <= 2; k++)
                a += (3 - (k < 0 ? -k : k)) * x[static_cast<ptrdiff_t>(i) + k];
            smooth_[i] = a / 9 - static_cast<int32_t>(mean);
        }
        uint64_t peaks = 0, energy = 0;
        for (size_t i = 9; i + 9 < kSamples; i++) {
            int32_t c = smooth_[i];
            if (c > smooth_[i - 1] && c >= smooth_[i + 1] && c > 400) peaks++;
            energy += static_cast<uint64_t>(static_cast<int64_t>(c) * x[i] & 0xffff);
        }
        return (peaks * 1000003 + energy) ^ (f.id * 0x9E3779B97F4A7C15ull >> 20);
    }

    std::vector<int32_t> smooth_;
};

}  // namespace

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    long frames = argc > 2 ? std::atol(argv[2]) : 3000;
    if (threads < 2 || threads > 256 || frames < 1) {
        std::fprintf(stderr, "usage: %s [threads >= 2] [frames]\n", argv[0]);
        return 1;
    }
    Channel<Frame*> ready;
    FramePool pool;
    std::vector<Report> reports(static_cast<size_t>(threads - 1));
    std::vector<std::thread> workers;
    for (auto& slot : reports)
        workers.emplace_back([&slot, &ready, &pool] {
            Worker w;
            w.run(ready, pool);
            slot = w.report;
        });
    std::thread reader([&] {
        for (long i = 0; i < frames; i++) {
            Frame* f = pool.acquire();
            capture(*f, static_cast<uint64_t>(i));
            ready.put(f);
        }
        ready.close();
    });
    reader.join();
    for (auto& w : workers) w.join();
    Report all;
    for (auto& r : reports) {
        all.frames += r.frames;
        all.digest += r.digest;
    }
    std::printf("frames %llu checksum %016llx\n", (unsigned long long)all.frames,
                (unsigned long long)all.digest);
    return all.frames == static_cast<uint64_t>(frames) ? 0 : 3;
}
