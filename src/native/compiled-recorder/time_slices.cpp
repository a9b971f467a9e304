// SPDX-License-Identifier: Apache-2.0
//
// Phases of equal length: a thread of the runtime begins them.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "held_signals.h"
#include "os.h"
#include "runtime.h"

namespace numascape {
namespace {

uint64_t session_begin = 0;  // CLOCK_REALTIME ns

// The first process of a session writes its start time to a file; the time slices of all processes
// are relative to it.
uint64_t read_session_begin() {
    char path[1200];
    append_text(append_text(path, options.directory, sizeof options.directory), "/begin", 16);
    uint64_t begin = shard.start_ns();
    int file = os::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
    if (file >= 0) {
        os::call(SYS_write, file, reinterpret_cast<long>(&begin), sizeof begin);
        os::close(file);
        return begin;
    }
    file = os::open(path, O_RDONLY | O_CLOEXEC);
    uint64_t first = 0;
    if (file >= 0) {
        const bool whole = os::read(file, &first, sizeof first) == sizeof first;
        begin = whole && first < begin ? first : begin;
        os::close(file);
    }
    return begin;
}

void* run_clock(void*) {
    constexpr uint64_t kSecond = 1000000000;
    thread_state.ended = true;  // this is no thread of the program
    ThreadRecorder* writer = shard.start_writer();
    while (writer != nullptr && !is_finished()) {
        const uint64_t left = phases.follow_clock(*writer, session_begin, options.every_ns);
        const timespec wait{static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
        os::call(SYS_nanosleep, reinterpret_cast<long>(&wait), 0);
    }
    return nullptr;
}

}  // namespace

void start_time_slices() {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static Create create_thread = nullptr;
    pthread_t clock;
    session_begin = read_session_begin();
    // The new thread must take no signals of the program.
    const os::HeldSignals held;
    next_of(create_thread, "pthread_create")(&clock, nullptr, run_clock, nullptr);
}

}  // namespace numascape
