// SPDX-License-Identifier: Apache-2.0
//
// What is measured, and what came of it. Times are seconds, bytes are as a program sees them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernels.h"
#include "memory.h"
#include "pinning.h"

namespace numascape::machine {

// How often and how long: `samples` samples of at least `sample_s` seconds each. Short ones fit
// between two interruptions by other programs.
struct Effort {
    unsigned samples = 15;
    double sample_s = 0.002;
    // A sample that was interrupted is taken again, up to this many of them for each wanted one.
    static constexpr unsigned tries = 4;
};

// Where the memory of a measurement turned out to be, of all its buffers together.
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
    double load_gb_s = 0;         // what the load moved meanwhile
    unsigned interrupted = 0;     // samples that were taken again; those that stay are in it too
};

// Called once before the points, and with each point as it is ready.
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

}  // namespace numascape::machine
