// SPDX-License-Identifier: Apache-2.0
#include "burst_cost.h"

#include <string_view>

#include "dr_api.h"
#include "recorder.h"

namespace numascape {
namespace {

constexpr uint32_t kLeastLevel = kMaxBurstLevels - 1;
constexpr uint32_t kFirstLevel = 6;
// The levels are chosen at most once in so many ticks (about a millisecond), because the CPU time
// of a process is a sum over its threads.
constexpr uint64_t kTicksBetween = 1 << 21;

// What translated code takes longer, in picoseconds: for an indirect jump, call or return; and for
// a unit of work. Measured on one processor (bench/results/dial-ways.md). A part of the time of
// plain blocks is always taken to be the program's.
constexpr uint64_t kIndirectPs = 2300;
constexpr uint64_t kUnitPs = 200;
constexpr uint64_t kLeastPartOfProgram = 3;
constexpr uint64_t kLeastPartOfCounting = 4;

// What the threads of the process did so far; times are CPU time.
struct Sums {
    std::atomic<uint64_t> burst_ns;
    std::atomic<uint64_t> burst_plain_ns;  // what they would need in plain blocks
    std::atomic<uint64_t> burst_units;
    std::atomic<uint64_t> gap_units;
    std::atomic<uint64_t> own_ticks;  // outside of bursts
    std::atomic<uint64_t> ways_ns;    // to this work and back
    std::atomic<uint64_t> indirect;   // jumps in bursts
};
Sums sums;

// What a process's clocks showed when its recording began.
struct Beginning {
    uint64_t process_ns;
    uint64_t helper_ns;
    uint64_t ticks;
    uint64_t monotonic_ns;
};
Beginning beginning;

clockid_t helper_clock = 0;  // of the process that records page faults; 0: there is none

// Costs at one moment, in ns of CPU time.
struct Costs {
    uint64_t native;  // without the recorder
    uint64_t bursts;  // what bursts took more than plain code
    uint64_t other;   // everything else that the recorder did
    uint64_t native_of_bursts;
};
Costs earlier;  // when the native time was between a quarter and a half of the present one
Costs latest;

std::atomic<uint32_t> level{kFirstLevel};
std::atomic<uint64_t> chosen_at{0};
SpinLock choosing;

// a * b / c; numbers that are too large lose their lowest bits.
uint64_t product_over(uint64_t a, uint64_t b, uint64_t c) {
    while (a >= uint64_t{1} << 32) {
        a >>= 1;
        c >>= 1;
    }
    while (b >= uint64_t{1} << 32) {
        b >>= 1;
        c >>= 1;
    }
    return a * b / (c == 0 ? 1 : c);
}

uint64_t difference(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

uint64_t load(const std::atomic<uint64_t>& number) {
    return number.load(std::memory_order_relaxed);
}

// In a longer time, the thread probably had no processor. Its CPU time is not asked for, because
// this takes as long as most of the recorder's work.
void add_own_ticks(uint64_t began) {
    constexpr uint64_t kLongest = 1 << 20;
    const uint64_t ticks = os::ticks() - began;
    sums.own_ticks += ticks < kLongest ? ticks : 0;
}

// The clock of the parent, if that is the process which records page faults.
clockid_t find_helper() {
    constexpr std::string_view kName = "numascape-fault";  // the kernel keeps 15 characters
    const uint32_t parent = os::parent_process_id();
    char path[64];
    dr_snprintf(path, sizeof path, "/proc/%u/comm", parent);
    const int file = os::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    char name[kName.size()] = {};
    const long bytes = os::read(file, name, sizeof name);
    os::close(file);
    const bool is_helper =
        bytes == static_cast<long>(sizeof name) && std::string_view(name, sizeof name) == kName;
    return is_helper ? os::clock_of_process(parent) : 0;
}

void begin() {
    sums.burst_ns = sums.burst_plain_ns = sums.burst_units = sums.gap_units = sums.own_ticks =
        sums.ways_ns = sums.indirect = 0;
    earlier = latest = {};
    beginning.process_ns = os::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    beginning.helper_ns = helper_clock != 0 ? os::clock_ns(helper_clock) : 0;
    beginning.ticks = os::ticks();
    beginning.monotonic_ns = os::clock_ns(CLOCK_MONOTONIC);
}

// What plain blocks took because they were translated: at most a part of their time.
uint64_t translated_ns(uint64_t plain, uint64_t gap_units, uint64_t burst_units) {
    const uint64_t jumps = product_over(load(sums.indirect), gap_units, burst_units);
    const uint64_t found = product_over(jumps, kIndirectPs, 1000) +
                           product_over(gap_units, kUnitPs, 1000) + load(sums.ways_ns);
    const uint64_t most = plain - plain / kLeastPartOfProgram;
    return found < most ? found : most;
}

// False if nothing is known yet.
bool measure(Costs& costs) {
    const uint64_t gap_units = load(sums.gap_units);
    const uint64_t burst_ns = load(sums.burst_ns);
    const uint64_t burst_units = load(sums.burst_units);
    const uint64_t process =
        difference(os::clock_ns(CLOCK_PROCESS_CPUTIME_ID), beginning.process_ns);
    const uint64_t helper =
        helper_clock != 0 ? difference(os::clock_ns(helper_clock), beginning.helper_ns) : 0;
    const uint64_t elapsed = difference(os::clock_ns(CLOCK_MONOTONIC), beginning.monotonic_ns);
    const uint64_t ticks = difference(os::ticks(), beginning.ticks);
    const uint64_t own = product_over(load(sums.own_ticks), elapsed, ticks);
    const uint64_t plain = difference(process, burst_ns + own);
    if (gap_units == 0 || burst_units == 0 || plain == 0) {
        return false;
    }
    const uint64_t translated = translated_ns(plain, gap_units, burst_units);
    const uint64_t native = plain - translated;
    costs.native_of_bursts = product_over(load(sums.burst_plain_ns), native, plain + own);
    costs.native = native + costs.native_of_bursts;
    costs.bursts = difference(burst_ns, costs.native_of_bursts);
    costs.other = own + helper + translated;
    return true;
}

// The number of ns that bursts may take in the next part of the run, which is taken to be as long
// as the run so far, and to have the other costs of the run's latest part.
uint64_t affordable_ns(const Costs& now) {
    const Costs& before = earlier;
    const uint64_t native = difference(now.native, before.native);
    const uint64_t other = difference(now.other, before.other);
    const uint64_t further = now.native + product_over(other, now.native, native == 0 ? 1 : native);
    const uint64_t wanted = product_over(2 * now.native, options.cost, 1000);
    return difference(wanted, now.native + now.bursts + now.other + further);
}

// The largest share that the cost permits, at most twice the present one: the first bursts may not
// show what counting costs.
uint32_t choose(const Costs& now, uint32_t present) {
    const uint64_t affordable = affordable_ns(now);
    // What it would have cost to count everything in bursts; a part of the time at least, because
    // the first bursts may show too little.
    const uint64_t found = product_over(now.bursts, now.native, now.native_of_bursts);
    const uint64_t least = now.native / kLeastPartOfCounting;
    const uint64_t everything = found > least ? found : least;
    uint32_t chosen = present == 0 ? 0 : present - 1;
    while (chosen < kLeastLevel && (affordable == 0 || everything >> (chosen + 1) > affordable)) {
        ++chosen;
    }
    return chosen;
}

void keep_for_later(const Costs& now) {
    if (now.native > 2 * latest.native) {
        earlier = latest;
        latest = now;
    }
}

}  // namespace

bool holds_cost() {
    return options.cost != 0;
}

void cost_init() {
    if (holds_cost()) {
        helper_clock = find_helper();
        begin();
    }
}

void cost_after_fork() {
    choosing.reset();
    helper_clock = 0;  // the parent counts it
    if (holds_cost()) {
        begin();
    }
}

void cost_burst_ends(BurstState& state, uint64_t units) {
    if (!holds_cost() || !shard.makes_calls()) {
        return;
    }
    state.ended_ns = os::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    sums.burst_ns += difference(state.ended_ns, state.began_ns);
    sums.burst_plain_ns += product_over(state.gap_ns, units, state.gap_done);
    sums.burst_units += units;
    sums.indirect += reinterpret_cast<uint64_t>(read_thread_slot(ThreadSlot::kIndirect));
    write_thread_slot(ThreadSlot::kIndirect, nullptr);
}

void cost_gap_ends(BurstState& state, uint64_t units) {
    if (!holds_cost() || !shard.makes_calls()) {
        return;
    }
    state.began_ns = os::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    // A gap without units does not show what they need.
    if (units != 0) {
        state.gap_ns = difference(state.began_ns, state.ended_ns);
        state.gap_done = units;
    }
    sums.gap_units += units;
}

void cost_block_begins() {
    ThreadRecorder* recorder = holds_cost() ? self() : nullptr;
    if (recorder != nullptr) {
        recorder->bursts.build_began = os::ticks();
    }
}

void cost_block_built(const BurstState& state) {
    if (holds_cost() && !state.counting) {
        add_own_ticks(state.build_began);
    }
}

OwnWork::OwnWork(const ThreadRecorder* recorder, uint64_t way_ns)
    : began_(holds_cost() && recorder != nullptr && !recorder->bursts.counting ? os::ticks() : 0),
      way_ns_(way_ns) {}

OwnWork::~OwnWork() {
    if (began_ != 0) {
        add_own_ticks(began_);
        sums.ways_ns += way_ns_;
    }
}

uint32_t affordable_level() {
    const uint64_t now = os::ticks();
    if (now - load(chosen_at) < kTicksBetween || !shard.makes_calls() || !choosing.lock_within(1)) {
        return level.load(std::memory_order_relaxed);
    }
    chosen_at = now;
    Costs costs{};
    if (measure(costs)) {
        level = choose(costs, level);
        keep_for_later(costs);
        shard.note_native_ns(costs.native);
    }
    choosing.unlock();
    return level.load(std::memory_order_relaxed);
}

void note_cost() {
    Costs costs{};
    if (holds_cost() && shard.makes_calls() && measure(costs)) {
        shard.note_native_ns(costs.native);
    }
}

}  // namespace numascape
