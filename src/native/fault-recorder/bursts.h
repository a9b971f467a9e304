// SPDX-License-Identifier: Apache-2.0
//
// Samples the clock of a process' threads only in short bursts.
//
// While a thread has a clock, the kernel exchanges events, and starts and stops a timer, at each
// switch from and to the thread. This takes as long as the switch itself. In a burst, samples are
// taken much more often than on average. So most switches are between the bursts, when no event is
// open. The pauses are random, so that they match no period of the program.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "event_ring.h"
#include "wanted_event.h"

namespace numascape {

inline std::vector<pid_t> threads_of(pid_t pid) {
    std::vector<pid_t> threads;
    std::error_code ended;
    const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
    for (const auto& each : std::filesystem::directory_iterator(tasks, ended)) {
        threads.push_back(std::atoi(each.path().filename().c_str()));
    }
    return threads;
}

class Bursts {
  public:
    Bursts(pid_t process, const Wanted& wanted)
        : process_(process),
          ratio_(static_cast<double>(wanted.period) /
                 static_cast<double>(wanted.period_in_bursts)) {}

    uint64_t count() const { return count_; }
    // The time until a burst begins or ends.
    int poll_ms() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_ - Clock::now());
        return static_cast<int>(std::max<int64_t>(0, left.count()));
    }
    // Begins or ends a burst if it is time for it. `rings` are those of the CPUs. Returns an error
    // if no event of a burst could be opened.
    int step(std::span<Ring> rings) {
        if (Clock::now() < next_) {
            return 0;
        }
        if (count_ == 0 || !is_open_) {
            return begin(rings);
        }
        end(rings);
        return 0;
    }

  private:
    using Clock = std::chrono::steady_clock;
    using Seconds = std::chrono::duration<double>;
    static constexpr Seconds kShortest{0.01};
    // The share of a CPU for opening and closing the events, because a process may have very many
    // threads.
    static constexpr double kOpening = 0.01;

    int begin(std::span<Ring> rings) {
        const double before = own_cpu_s();
        int error = ESRCH;
        for (const pid_t thread : threads_of(process_)) {
            for (Ring& ring : rings) {
                if (ring.add(thread)) {
                    error = 0;
                } else if (error != 0) {
                    error = errno;
                }
            }
        }
        opening_s_ = own_cpu_s() - before;
        is_open_ = true;
        ++count_;
        began_ = Clock::now();
        next_ = began_ + std::chrono::duration_cast<Clock::duration>(length_);
        return error;
    }
    // On a busy machine, a burst ends late. The pause after it is then longer, too.
    void end(std::span<Ring> rings) {
        const double before = own_cpu_s();
        for (Ring& ring : rings) {
            ring.close_added();
        }
        is_open_ = false;
        const Seconds cost(opening_s_ + own_cpu_s() - before);
        const auto now = Clock::now();
        const Seconds pause = Seconds(now - began_) * (ratio_ - 1) * random_(generator_);
        next_ = now + std::chrono::duration_cast<Clock::duration>(pause);
        length_ = std::max(kShortest, cost / (kOpening * ratio_));
    }
    static double own_cpu_s() {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }

    pid_t process_;
    double ratio_;  // of the time to that of bursts
    Seconds length_ = kShortest;
    double opening_s_ = 0;
    bool is_open_ = false;
    uint64_t count_ = 0;
    Clock::time_point began_, next_;
    std::mt19937_64 generator_{std::random_device{}()};
    std::uniform_real_distribution<> random_{0.5, 1.5};
};

}  // namespace numascape
