// SPDX-License-Identifier: Apache-2.0
//
// Which phase is in force. The last mark that the program set, while there is one: its author knows
// best. Else the parallel region that is running, else none. With time slices only the clock
// counts.
#include "phases.h"

#include <linux/futex.h>

#include "os.h"
#include "phase_log.h"
#include "recorder.h"

namespace numascape {
namespace {

SpinLock lock;
PhaseLog phases(shard);
uint32_t mark = 0;           // phase of the mark in force, 0 = none
PhaseIdentity region{};      // the region that runs; kOutside = none
uint64_t session_begin = 0;  // CLOCK_REALTIME ns
std::atomic<bool> clock_wanted{false};
std::atomic<bool> clock_runs{false};
std::atomic<uint32_t> clock_stopped{0};

constexpr uint64_t kMostNameBytes = 255;

void begin_if_other(ThreadRecorder& recorder, uint32_t phase) {
    if (phase != shard.current_phase()) {
        phases.begin(recorder, phase);
    }
}

// Unless a mark is in force.
void begin_region(ThreadRecorder& recorder) {
    if (mark == 0) {
        begin_if_other(recorder, region.kind == PhaseKind::kRegion ? phases.find(region) : 0);
    }
}

// The first process of a session says in a file when it began; slices of all processes are counted
// from there.
uint64_t read_session_begin() {
    char path[1200];
    dr_snprintf(path, sizeof path, "%s/begin", options.directory);
    path[sizeof path - 1] = '\0';
    uint64_t begin = shard.start_ns();
    file_t file = dr_open_file(path, DR_FILE_WRITE_REQUIRE_NEW);
    if (file != INVALID_FILE) {
        dr_write_file(file, &begin, sizeof begin);
        dr_close_file(file);
        return begin;
    }
    file = dr_open_file(path, DR_FILE_READ);
    if (file != INVALID_FILE) {
        uint64_t first = 0;
        const bool whole = dr_read_file(file, &first, sizeof first) == sizeof first;
        begin = whole && first < begin ? first : begin;
        dr_close_file(file);
    }
    return begin;
}

// The slice of this moment begins, if it is not in force. Returns how long it still lasts.
uint64_t follow_clock(ThreadRecorder& recorder) {
    const uint64_t now = os::realtime_ns();
    const uint64_t since = now > session_begin ? now - session_begin : 0;
    const uint64_t start = since / options.every_ns * options.every_ns;
    const uint64_t end = start + options.every_ns;
    SpinGuard guard(lock);
    begin_if_other(recorder, phases.find({PhaseKind::kTimeSlice, start, end, "", 0}));
    return end - since;
}

// DynamoRIO must not suspend this thread while it holds a lock that others need, and must not go
// while it runs: stop_clock.
void run_clock(void*) {
    constexpr uint64_t kSecond = 1000000000;
    ThreadRecorder* writer = shard.start_writer();
    dr_client_thread_set_suspendable(false);
    while (writer != nullptr && clock_stopped.load() == 0) {
        const uint64_t left = follow_clock(*writer);
        const timespec wait{static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
        os::call(SYS_futex, reinterpret_cast<long>(&clock_stopped), FUTEX_WAIT_PRIVATE, 0,
                 reinterpret_cast<long>(&wait));
    }
    dr_client_thread_set_suspendable(true);
    clock_runs.store(false);
}

void start_clock() {
    clock_runs.store(true);
    if (!dr_create_client_thread(run_clock, nullptr)) {
        clock_runs.store(false);
    }
}

}  // namespace

void region_began(ThreadRecorder& recorder, uint64_t function, uint64_t caller) {
    SpinGuard guard(lock);
    region = {PhaseKind::kRegion, function, caller, "", 0};
    begin_region(recorder);
}

void region_ended(ThreadRecorder& recorder) {
    SpinGuard guard(lock);
    region = {};
    begin_region(recorder);
}

void mark_reached(uint64_t pc, uint64_t name) {
    ThreadRecorder* recorder = self();
    if (recorder == nullptr || detached) {
        return;
    }
    char text[kMostNameBytes + 1];
    const size_t got = name != 0 ? os::read_memory(name, text, kMostNameBytes) : 0;
    uint32_t length = 0;
    while (length < got && text[length] != '\0') {
        ++length;
    }
    SpinGuard guard(lock);
    if (length == 0) {
        mark = 0;
        begin_region(*recorder);
        return;
    }
    mark = phases.find({PhaseKind::kMark, pc, 0, text, length});
    phases.begin(*recorder, mark);
}

void phases_after_fork() {
    lock.reset();
    ThreadRecorder* recorder = self();
    if (recorder == nullptr) {
        return;
    }
    SpinGuard guard(lock);
    phases.after_fork(*recorder);
    if (options.every_ns != 0) {
        start_clock();
    }
}

void stop_clock() {
    clock_stopped.store(1);
    while (clock_runs.load()) {
        os::call(SYS_futex, reinterpret_cast<long>(&clock_stopped), FUTEX_WAKE_PRIVATE, 1);
        os::yield();
    }
}

void phases_close() {
    SpinGuard guard(lock);
    phases.close();
}

// DynamoRIO cannot run threads of its own before it runs the program.
void start_wanted_clock() {
    if (clock_wanted.load(std::memory_order_relaxed) && clock_wanted.exchange(false)) {
        start_clock();
    }
}

void phases_init() {
    const bool opened = phases.open();
    DR_ASSERT(opened);
    (void)opened;
    shard.limit_tables(options.most_tables);
    if (options.every_ns != 0) {
        session_begin = read_session_begin();
        clock_wanted.store(true);
    }
}

}  // namespace numascape
