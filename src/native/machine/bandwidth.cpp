// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <memory>

#include "measurements.h"
#include "team.h"

namespace numascape::machine {

namespace {

// Each vector of a thread begins a little later in its page than the previous one. At the same
// place, the vectors would compete for the same cache sets. If it began a little earlier, a load
// would seem to depend on an unfinished store, because the processor compares the last 12 bits of
// their addresses.
constexpr std::size_t kSkew = 5 * kLine;
constexpr std::size_t kPage = 4096;

// A thread's memory: its part of each vector, for the largest size.
struct Part {
    std::unique_ptr<Buffer> buffer;
    std::size_t stride = 0;  // bytes between vectors

    Vectors vectors() const {
        auto at = [this](std::size_t i) {
            return reinterpret_cast<double*>(buffer->data() + i * stride);
        };
        return {at(0), at(1), at(2), at(3)};
    }
};

// Doubles in a thread's part of each vector.
std::size_t part_count(const BandwidthRequest& request, std::size_t bytes) {
    const std::size_t count =
        bytes / request.cpus.size() / request.operation.bytes_per_element / kBlock * kBlock;
    return std::max(count, kBlock);
}

std::vector<Part> allocate(const BandwidthRequest& request) {
    const std::size_t vector = part_count(request, request.bytes.back()) * sizeof(double);
    const std::size_t stride = (vector + kPage - 1) / kPage * kPage + kSkew;
    std::vector<Part> parts;
    for (std::size_t i = 0; i < request.cpus.size(); i++) {
        parts.push_back({std::make_unique<Buffer>(4 * kLine + stride * request.operation.vectors,
                                                  request.nodes[i]),
                         stride});
    }
    return parts;
}

void add(Setting& all, const Part& part, int node) {
    const Placement placement = part.buffer->placement(node);
    all.bound = all.bound && (part.buffer->bound() || node == kAnyNode);
    all.known = all.known && placement.known;
    all.pages += placement.pages;
    all.elsewhere += placement.elsewhere;
    all.all_bytes += part.buffer->size();
}

// Measures the whole team; all members get the same results.
class Stopwatch {
  public:
    explicit Stopwatch(std::size_t members) : barrier_(members) {}

    struct Lap {
        double seconds;
        bool interrupted;  // one of the members, by another program
    };

    // All start together; returns when all have done `rounds` rounds.
    Lap time(std::size_t member, const BandwidthRequest& request, const Part& part,
             std::size_t count, std::size_t rounds) {
        if (member == 0) interrupted_ = false;
        barrier_.wait();
        const long before = interruptions();
        const double start = now();
        const std::size_t calls = request.call_each ? rounds : 1;
        double total = 0;
        for (std::size_t call = 0; call < calls; call++) {
            total += request.operation.kernel(part.vectors(), count, rounds / calls);
        }
        if (interruptions() != before) interrupted_ = true;
        barrier_.wait();
        if (member == 0) seconds_ = now() - start;
        asm volatile("" : : "r,m"(total));
        barrier_.wait();
        const Lap lap{seconds_, interrupted_};
        barrier_.wait();
        return lap;
    }

  private:
    Barrier barrier_;
    double seconds_ = 0;
    std::atomic<bool> interrupted_ = false;
};

void measure_size(std::size_t member, const BandwidthRequest& request, const Part& part,
                  std::size_t bytes, Stopwatch& stopwatch, const Report& report) {
    const std::size_t count = part_count(request, bytes);
    std::size_t rounds = 1;
    auto lap = [&] { return stopwatch.time(member, request, part, count, rounds); };
    lap();
    // Two measurements in a row must be long enough, because another program may have run during
    // the first.
    while (lap().seconds < request.effort.sample_s || lap().seconds < request.effort.sample_s) {
        rounds *= 2;
    }
    const auto moved =
        static_cast<double>(count * request.operation.bytes_per_element * request.cpus.size());
    Point point;
    point.at = static_cast<double>(bytes);
    unsigned spare = request.effort.samples * (Effort::tries - 1);
    while (point.samples.size() < request.effort.samples) {
        const Stopwatch::Lap taken = lap();
        if (taken.interrupted) point.interrupted++;
        if (!taken.interrupted || spare == 0) {
            point.samples.push_back(moved * static_cast<double>(rounds) / taken.seconds / 1e9);
        } else {
            spare--;
        }
    }
    if (member == 0) report.point(point);
}

}  // namespace

void measure_bandwidth(const Pinning& pinning, const BandwidthRequest& request,
                       const Report& report) {
    const std::vector<Part> parts = allocate(request);
    Stopwatch stopwatch(parts.size());
    Barrier barrier(parts.size());
    const auto work = [&](std::size_t member) {
        if (!request.serial_touch) {
            parts[member].buffer->touch();
        } else if (member == 0) {
            for (const Part& part : parts) part.buffer->touch();
        }
        barrier.wait();
        if (member == 0) {
            Setting setting;
            for (std::size_t i = 0; i < parts.size(); i++) add(setting, parts[i], request.nodes[i]);
            setting.huge_bytes = huge_bytes();
            report.setting(setting);
        }
        for (const std::size_t bytes : request.bytes) {
            measure_size(member, request, parts[member], bytes, stopwatch, report);
        }
    };
    if (request.alone) {
        run_alone(pinning, request.cpus.front(), work);
    } else {
        run_team(pinning, request.cpus, work);
    }
}

}  // namespace numascape::machine
