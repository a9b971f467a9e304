// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <memory>
#include <span>

#include "chase.h"
#include "measurements.h"
#include "pause.h"
#include "team.h"

namespace numascape::machine {

namespace {

constexpr std::size_t kReadBlock = 4096;
constexpr double kSettle = 0.02;  // seconds until the load runs evenly

// Samples of the time per link; `at` moves along the cycle.
class Chaser {
  public:
    Chaser(Link* lines, std::size_t count) : at_(lines), count_(count) {
        make_cycle(lines, count, 1);
    }

    // Follows the whole cycle, or a large part of it, so that data that fits into a cache is there.
    void warm_up() { at_ = chase(at_, std::min(count_, std::size_t{1} << 22)); }

    // Finds how many steps take `seconds`.
    void calibrate(double seconds) {
        steps_ = 1024;
        // Two measurements in a row must be long enough, because another program may have run
        // during the first.
        while (time() < seconds || time() < seconds) steps_ *= 2;
    }

    // Takes samples in ns per step. Repeats those during which another program ran on this CPU,
    // until Effort::tries is reached: then they count.
    void take(const Effort& effort, Point& point) {
        unsigned spare = effort.samples * (Effort::tries - 1);
        while (point.samples.size() < effort.samples) {
            const long before = interruptions();
            const double ns = time() * 1e9 / static_cast<double>(steps_);
            const bool clean = interruptions() == before;
            if (!clean) point.interrupted++;
            if (clean || spare == 0) {
                point.samples.push_back(ns);
            } else {
                spare--;
            }
        }
    }

  private:
    double time() {
        const double start = now();
        at_ = chase(at_, steps_);
        return now() - start;
    }

    const Link* at_;
    std::size_t count_;
    std::size_t steps_ = 0;
};

Setting setting_of(const Buffer& buffer, int node) {
    const Placement placement = buffer.placement(node);
    return {buffer.bound(),      placement.known, placement.pages,
            placement.elsewhere, huge_bytes(),    buffer.size()};
}

}  // namespace

void measure_latency(const Pinning& pinning, const LatencyRequest& request, const Report& report) {
    const Buffer buffer(request.bytes.back(), request.node);
    const unsigned cpus[] = {request.cpu};
    run_team(pinning, cpus, [&](std::size_t) {
        buffer.touch();
        report.setting(setting_of(buffer, request.node));
        for (const std::size_t bytes : request.bytes) {
            Chaser chaser(reinterpret_cast<Link*>(buffer.data()),
                          std::max(bytes / kLine, std::size_t{1}));
            chaser.warm_up();
            chaser.calibrate(request.effort.sample_s);
            Point point;
            point.at = static_cast<double>(bytes);
            chaser.take(request.effort, point);
            report.point(point);
        }
    });
}

namespace {

// The threads that make the load: they read their memory repeatedly until they are told to end.
class Load {
  public:
    Load(const LoadRequest& request, const Buffer& memory) : request_(request), memory_(memory) {}

    void run(std::size_t reader) {
        const std::size_t part = request_.bytes / kReadBlock * kReadBlock;
        const std::byte* start = memory_.data() + reader * part;
        double total = 0;
        while (!ended_.load(std::memory_order_relaxed)) {
            for (std::size_t offset = 0; offset < part; offset += kReadBlock) {
                auto* block = const_cast<std::byte*>(start + offset);
                auto* values = reinterpret_cast<double*>(block);
                total += request_.operation.kernel({values, nullptr, nullptr, nullptr},
                                                   kReadBlock / sizeof(double), 1);
                blocks_.fetch_add(1, std::memory_order_relaxed);
                const unsigned delay = delay_.load(std::memory_order_relaxed);
                for (unsigned i = 0; i < delay; i++) pause_once();
                if (ended_.load(std::memory_order_relaxed)) break;
            }
        }
        asm volatile("" : : "r,m"(total));
    }

    void set_delay(unsigned delay) { delay_.store(delay, std::memory_order_relaxed); }
    void end() { ended_.store(true, std::memory_order_relaxed); }
    double bytes() const { return static_cast<double>(blocks_.load() * kReadBlock); }

  private:
    const LoadRequest& request_;
    const Buffer& memory_;
    std::atomic<unsigned> delay_{0};
    alignas(64) std::atomic<std::size_t> blocks_{0};
    alignas(64) std::atomic<bool> ended_{false};
};

void wait_for(double seconds) {
    for (const double end = now() + seconds; now() < end;) pause_once();
}

}  // namespace

void measure_loaded_latency(const Pinning& pinning, const LoadRequest& request,
                            const Report& report) {
    const Buffer cycle(request.bytes, request.node);
    const Buffer memory(std::max(request.cpus.size(), std::size_t{1}) * request.bytes,
                        request.node);
    std::vector<unsigned> cpus{request.cpu};
    cpus.insert(cpus.end(), request.cpus.begin(), request.cpus.end());
    Load load(request, memory);
    Barrier ready(cpus.size());
    run_team(pinning, cpus, [&](std::size_t member) {
        if (member > 0) {
            ready.wait();
            load.run(member - 1);
            return;
        }
        cycle.touch();
        memory.touch();
        Setting setting = setting_of(cycle, request.node);
        const Setting other = setting_of(memory, request.node);
        setting.pages += other.pages;
        setting.elsewhere += other.elsewhere;
        setting.all_bytes += other.all_bytes;
        report.setting(setting);
        Chaser chaser(reinterpret_cast<Link*>(cycle.data()), request.bytes / kLine);
        ready.wait();
        for (const unsigned delay : request.delays) {
            load.set_delay(delay);
            wait_for(kSettle);
            chaser.calibrate(request.effort.sample_s);
            Point point;
            point.at = static_cast<double>(delay);
            const double before = load.bytes();
            const double start = now();
            chaser.take(request.effort, point);
            point.load_gb_s = (load.bytes() - before) / (now() - start) / 1e9;
            report.point(point);
        }
        load.end();
    });
}

}  // namespace numascape::machine
