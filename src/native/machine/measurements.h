// SPDX-License-Identifier: Apache-2.0
//
// The parameters and results of measurements. Times are in seconds; bytes are those that a program
// accesses.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernels.h"
#include "memory.h"
#include "pinning.h"

namespace numascape::machine {

// Number and length of the samples: `samples` samples of at least `sample_s` seconds each. They are
// short, to fit between two interruptions by other programs.
struct Effort {
    unsigned samples = 15;
    double sample_s = 0.002;
    // Interrupted samples are repeated. At most this many samples are taken per wanted sample, on
    // average.
    static constexpr unsigned tries = 4;
};

// The actual placement of the memory of a measurement, over all its buffers.
struct Setting {
    bool bound = true;
    bool known = true;
    std::size_t pages = 0;
    std::size_t elsewhere = 0;
    std::size_t huge_bytes = 0;
    std::size_t all_bytes = 0;
};

// The samples for one size (bytes of all vectors of all threads) or one delay of the load.
struct Point {
    double at = 0;
    std::vector<double> samples;  // ns of a load, or GB/s
    double load_gb_s = 0;         // GB/s that the load moved meanwhile
    unsigned interrupted = 0;     // interrupted samples, repeated or not
};

// Called once before the points, and then with each point when it is ready.
struct Report {
    std::function<void(const Setting&)> setting;
    std::function<void(const Point&)> point;
};

struct LatencyRequest {
    unsigned cpu;
    int node;
    std::vector<std::size_t> bytes;  // ascending
    Effort effort;
};

// Read latency of a CPU from memory of a node, for each size.
void measure_latency(const Pinning& pinning, const LatencyRequest& request, const Report& report);

struct BandwidthRequest {
    Operation operation;
    std::vector<unsigned> cpus;      // one thread on each
    std::vector<int> nodes;          // of each thread's vectors; kAnyNode: first touch decides
    bool serial_touch = false;       // the first thread touches everything
    bool alone = false;              // one CPU: in the calling thread, without any other
    bool call_each = false;          // call the loop for each round, as likwid-bench does
    std::vector<std::size_t> bytes;  // ascending, of all threads together
    Effort effort;
};

// GB/s of all threads together, for each size. Each thread has its own part of each vector.
void measure_bandwidth(const Pinning& pinning, const BandwidthRequest& request,
                       const Report& report);

struct LoadRequest {
    unsigned cpu;                  // that measures latency
    int node;                      // whose memory all use
    std::vector<unsigned> cpus;    // that read meanwhile
    Operation operation;           // read
    std::size_t bytes;             // of the cycle, and of each reading thread
    std::vector<unsigned> delays;  // pauses of a reading thread after each 4 KiB
    Effort effort;
};

// Read latency while other CPUs read, for each delay between their reads.
void measure_loaded_latency(const Pinning& pinning, const LoadRequest& request,
                            const Report& report);

struct CoreLatencyRequest {
    unsigned from, to;  // CPUs
    Effort effort;
};

// The time until a CPU sees what another one has written: half a round trip of a cache line.
void measure_core_latency(const Pinning& pinning, const CoreLatencyRequest& request,
                          const Report& report);

}  // namespace numascape::machine
