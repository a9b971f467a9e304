// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <thread>

#include "measurements.h"

namespace numascape::machine {

namespace {

using Clock = std::chrono::steady_clock;

// Two cache lines apart, because processors fetch lines in pairs.
struct alignas(256) Line {
    std::atomic<std::uint64_t> value{0};
};

// One side of the exchange: it waits for the other's number, and answers with the same one. The
// number ~0 ends it.
constexpr std::uint64_t kEnd = ~std::uint64_t{0};

void answer(const Line& from, Line& to) {
    std::uint64_t wanted = 1;
    for (;;) {
        const std::uint64_t seen = from.value.load(std::memory_order_acquire);
        if (seen == kEnd) return;
        if (seen != wanted) continue;
        to.value.store(wanted++, std::memory_order_release);
    }
}

// The mean seconds of a round trip, over this many round trips.
double exchange(Line& to, const Line& from, std::uint64_t& number, std::uint64_t rounds) {
    const auto begin = Clock::now();
    for (std::uint64_t end = number + rounds; number < end;) {
        to.value.store(++number, std::memory_order_release);
        while (from.value.load(std::memory_order_acquire) != number) {
        }
    }
    return std::chrono::duration<double>(Clock::now() - begin).count() / double(rounds);
}

}  // namespace

void measure_core_latency(const Pinning& pinning, const CoreLatencyRequest& request,
                          const Report& report) {
    if (request.from == request.to) throw std::runtime_error("two different CPUs are needed");
    Line there, back;
    std::exception_ptr failure;
    std::jthread other([&] {
        try {
            pinning.pin(request.to);
        } catch (...) {
            failure = std::current_exception();
            back.value.store(kEnd, std::memory_order_release);
            return;
        }
        back.value.store(kEnd - 1, std::memory_order_release);  // ready
        answer(there, back);
    });
    struct End {
        Line& line;
        ~End() { line.value.store(kEnd, std::memory_order_release); }
    } end{there};  // before the thread is joined, also after an exception
    pinning.pin(request.from);
    std::uint64_t ready;
    while ((ready = back.value.load(std::memory_order_acquire)) == 0) {
    }
    if (ready == kEnd) std::rethrow_exception(failure);
    report.setting({});
    std::uint64_t number = 0, rounds = 256;
    // Two measurements in a row must be long enough, because another program may have run during
    // the first.
    while (exchange(there, back, number, rounds) * double(rounds) < request.effort.sample_s) {
        rounds *= 2;
    }
    Point point;
    for (unsigned i = 0; i < request.effort.samples; ++i) {
        point.samples.push_back(exchange(there, back, number, rounds) * 1e9 / 2.0);
    }
    report.point(point);
}

}  // namespace numascape::machine
