// SPDX-License-Identifier: Apache-2.0
//
// The clock of time slices, and the calls from the program's marks and regions to the choice of the
// phase (phase_choice.h).
#include "phases.h"

#include <linux/futex.h>

#include "os.h"
#include "phase_choice.h"
#include "recorder.h"

namespace numascape {
namespace {

PhaseChoice phases(shard);
uint64_t session_begin = 0;  // CLOCK_REALTIME ns
std::atomic<bool> clock_wanted{false};
std::atomic<bool> clock_runs{false};
std::atomic<uint32_t> clock_stopped{0};

// The first process of a session writes its start time to a file; the time slices of all processes
// are relative to it.
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

// DynamoRIO must not suspend this thread while the thread holds a lock that others need. DynamoRIO
// must not leave the process while the thread runs: see stop_clock.
void run_clock(void*) {
    constexpr uint64_t kSecond = 1000000000;
    ThreadRecorder* writer = shard.start_writer();
    dr_client_thread_set_suspendable(false);
    while (writer != nullptr && clock_stopped.load() == 0) {
        const uint64_t left = phases.follow_clock(*writer, session_begin, options.every_ns);
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
    phases.region_began(recorder, function, caller);
}

void region_ended(ThreadRecorder& recorder) {
    phases.region_ended(recorder);
}

void mark_reached(uint64_t pc, uint64_t name) {
    ThreadRecorder* recorder = self();
    if (recorder != nullptr && !detached) {
        phases.mark_reached(*recorder, pc, name);
    }
}

void phases_after_fork() {
    ThreadRecorder* recorder = self();
    if (recorder == nullptr) {
        return;
    }
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
    phases.close();
}

// DynamoRIO cannot run client threads before it runs the program.
void start_wanted_clock() {
    if (clock_wanted.load(std::memory_order_relaxed) && clock_wanted.exchange(false)) {
        start_clock();
    }
}

void phases_init() {
    const bool opened = phases.open();
    DR_ASSERT(opened);
    (void)opened;
    shard.limit_tables(options.max_tables);
    if (options.every_ns != 0) {
        session_begin = read_session_begin();
        clock_wanted.store(true);
    }
}

}  // namespace numascape
