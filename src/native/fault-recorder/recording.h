// SPDX-License-Identifier: Apache-2.0
//
// A log of events that is being written (replay/fault_log.h).
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "bursts.h"
#include "event_ring.h"
#include "fault_log.h"
#include "pages_in_memory.h"
#include "permission.h"

namespace numascape {

inline constexpr int kPollMs = 50;
inline constexpr int kClockPollMs = 5;

// Writes the events of threads and their children into a file.
class Recording {
  public:
    // Why the kernel opens an event of this thread only with this error.
    std::string why_refused(int error, pid_t thread, const Wanted& wanted, const char* what) {
        const bool is_forbidden = error == EACCES || error == EPERM;
        if (is_forbidden && open({getpid()}, wanted) == 0) {
            return foreign(thread);
        }
        return std::string("the kernel does not report ") + what + ": " + std::strerror(error) +
               advice_for(error);
    }
    // Samples the clock of each CPU, and keeps the samples of this process. With events of threads,
    // the kernel would have work at every switch of a CPU between threads. False if this user may
    // only observe threads.
    bool add_clock_of_cpus(pid_t process, Wanted wanted) {
        wanted.event = PERF_COUNT_SW_CPU_CLOCK;
        wanted.only = static_cast<uint32_t>(process);
        return open({kAllThreads}, wanted) == 0;
    }
    // Samples the clock of the threads of this process in bursts. Returns an error as open() does.
    int open_in_bursts(pid_t process, Wanted wanted) {
        const size_t first = rings_.size();
        Bursts bursts(process, wanted);
        wanted.period = wanted.period_in_bursts;
        const auto ring_of = [&](int cpu) { return Ring::without_events(cpu, wanted); };
        if (const int error = open_on_cpus(ring_of, wanted); error != 0) {
            return error;
        }
        first_of_bursts_ = first;
        rings_of_bursts_ = rings_.size() - first;
        bursts_.emplace(bursts);
        return step();
    }
    // Begins or ends a burst if it is time for it. Returns an error if it could not begin.
    int step() {
        return bursts_ ? bursts_->step(
                             std::span<Ring>(rings_).subspan(first_of_bursts_, rings_of_bursts_))
                       : 0;
    }
    // Called after the events are open, because the file says that recording has begun.
    void begin(const std::string& path) {
        file_.open(path, std::ios::binary);
        std::memcpy(header_.magic, kFaultMagic, sizeof header_.magic);
        file_.write(reinterpret_cast<const char*>(&header_), sizeof header_);
    }
    // Also records which pages are in memory, to distinguish hinting faults from first touches.
    // `running` is the process that already runs, or 0.
    void watch_pages(pid_t running) {
        watched_.emplace();
        if (running != 0) {
            watched_->look_at_all_of(static_cast<uint32_t>(running));
        }
    }
    int poll_ms() const { return bursts_ ? std::min(poll_ms_, bursts_->poll_ms()) : poll_ms_; }
    void wait_on(std::vector<pollfd>& waiting) const {
        for (const Ring& ring : rings_) {
            waiting.push_back({ring.file(), POLLIN, 0});
        }
    }
    void drain() {
        entries_.clear();
        const uint64_t began = realtime_ns();
        readers_.begin_round();
        for (Ring& ring : rings_) {
            header_.lost += ring.drain(entries_, readers_);
        }
        // The next poll comes soon after samples whose accesses or callers are read from memory.
        poll_ms_ = !reads_memory_      ? kPollMs
                   : !entries_.empty() ? kClockPollMs
                                       : std::min(2 * poll_ms_, kPollMs);
        if (watched_) {
            watched_->follow(entries_, began);
        }
        write_entries();
    }
    void finish() {
        drain();
        entries_.clear();
        readers_.clock.finish(entries_);
        write_entries();
        header_.bursts = bursts_ ? bursts_->count() : 0;
        file_.seekp(0);
        file_.write(reinterpret_cast<const char*>(&header_), sizeof header_);
        file_.close();
    }

    // Returns 0, or the error with which the kernel refused an event. Then no event is open.
    int open(const std::vector<pid_t>& threads, const Wanted& wanted) {
        const auto ring_of = [&](int cpu) {
            Ring ring(cpu, threads.front(), wanted);
            for (size_t i = 1; i < threads.size() && ring.opened(); ++i) {
                ring.add(threads[i]);
            }
            return ring;
        };
        return open_on_cpus(ring_of, wanted);
    }

  private:
    // Opens a ring for each CPU; `ring_of` makes it.
    template <typename Make>
    int open_on_cpus(const Make& ring_of, const Wanted& wanted) {
        std::vector<Ring> opened;
        bool is_missing = false;
        for (int cpu = 0; cpu < static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)); ++cpu) {
            errno = 0;
            Ring ring = ring_of(cpu);
            if (ring.opened()) {
                opened.push_back(ring);
            } else if (errno == ENOENT) {  // this CPU is of another kind, without the event
                is_missing = true;
            } else if (errno != ENODEV) {  // ENODEV: the CPU is off
                const int error = errno;
                std::for_each(opened.begin(), opened.end(), [](Ring& r) { r.close_events(); });
                return error;
            }
        }
        if (is_missing && opened.empty()) {
            return ENOENT;
        }
        reads_memory_ = reads_memory_ || wanted.of_clock || wanted.stack_bytes != 0;
        rings_.insert(rings_.end(), opened.begin(), opened.end());
        return 0;
    }

    void write_entries() {
        file_.write(reinterpret_cast<const char*>(entries_.data()),
                    static_cast<std::streamsize>(entries_.size() * sizeof(FaultEntry)));
        file_.flush();
    }

    std::ofstream file_;
    FaultHeader header_{};
    std::vector<Ring> rings_;
    std::vector<FaultEntry> entries_;
    std::optional<WatchedProcesses> watched_;
    std::optional<Bursts> bursts_;
    size_t first_of_bursts_ = 0;  // in rings_
    size_t rings_of_bursts_ = 0;
    SampleReaders readers_;
    bool reads_memory_ = false;
    int poll_ms_ = kClockPollMs;
};

}  // namespace numascape
