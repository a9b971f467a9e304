// SPDX-License-Identifier: Apache-2.0
#include "held_threads.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include <sys/ptrace.h>
#include <sys/wait.h>

#include "thread_signals.h"

namespace numascape {
namespace {

constexpr auto kLongestWait = std::chrono::seconds(5);
constexpr auto kPoll = std::chrono::microseconds(200);
constexpr int kMaxPasses = 100;
// A long limit, because DynamoRIO starts at the same time, and the machine may be busy.
constexpr auto kLongestStart = std::chrono::seconds(120);

constexpr uint64_t bit_of(int signal) {
    return uint64_t{1} << (signal - 1);
}
constexpr uint64_t kNeeded = bit_of(SIGILL) | bit_of(SIGSEGV) | bit_of(SIGBUS);
// Signals of faults. If an instruction caused one, the next execution of the instruction causes it
// again.
constexpr uint64_t kFaults = kNeeded | bit_of(SIGFPE);

// A record of the file. A patch of DynamoRIO reads these records.
struct Record {
    uint64_t thread;
    uint64_t blocked;
    uint64_t has_blocked;  // the thread now blocks other signals than `blocked`
    CallEnds ends;
};

void write(std::ofstream& file, const Record& record) {
    file.write(reinterpret_cast<const char*>(&record), sizeof record);
}

CallEnds restart(int process, int thread) {
    ThreadRegisters registers{};
    if (!read_registers(thread, registers)) {
        return CallEnds::kNever;
    }
    const auto ends = restart_call(process, registers);
    if (ends) {
        write_registers(thread, registers);
    }
    return ends.value_or(CallEnds::kNever);
}

// Whether the signal of a fault is pending. It would reach the thread before the signal of
// DynamoRIO.
bool fault_comes(int process, int thread) {
    ThreadSignals signals;
    return read_signals(process, thread, signals) &&
           (signals.thread_pending & kFaults & ~signals.blocked) != 0;
}

// A signal without a handler, such as SIGCHLD, ends no system call. DynamoRIO's signal, which
// follows it, would end the call.
bool has_handler(int process, int thread, int signal) {
    ThreadSignals signals;
    return read_signals(process, thread, signals) && (signals.caught & bit_of(signal)) != 0;
}

bool set_blocked(int thread, uint64_t blocked) {
    return ptrace(PTRACE_SETSIGMASK, thread, sizeof blocked, &blocked) == 0;
}

// Whether the current instruction of the thread caused the signal that stopped it.
bool is_fault(int thread) {
    siginfo_t info{};
    return ptrace(PTRACE_GETSIGINFO, thread, nullptr, &info) == 0 && info.si_code > 0 &&
           info.si_code != SI_KERNEL && (bit_of(info.si_signo) & kFaults) != 0;
}

// Whether the thread has ended, or is about to. PTRACE_SEIZE then fails with EPERM. A held thread
// that was killed stays in this state until we collect it, and so does its process.
bool is_ending(int process, int thread) {
    std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) +
                       "/stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t name_end = stat.rfind(") ");
    return name_end == std::string::npos || std::strchr("ZX", stat[name_end + 2]) != nullptr;
}

// False if the kernel lacks this file.
bool has_children(const std::filesystem::path& task) {
    std::ifstream children(task / "children");
    int child = 0;
    return static_cast<bool>(children >> child);
}

}  // namespace

// A thread may end at any time; then there is nothing to hold.
bool HeldThreads::stop(int thread) {
    if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
        const int error = errno;
        error_ = error == ESRCH || is_ending(process_, thread) ? 0 : error;
        return error_ == 0;
    }
    ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    const auto end = std::chrono::steady_clock::now() + kLongestWait;
    while (std::chrono::steady_clock::now() < end) {
        int status = 0;
        const pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
        if (found == thread && WIFSTOPPED(status)) {
            const bool ours = status >> 16 == PTRACE_EVENT_STOP;
            if (ours && fault_comes(process_, thread)) {
                ptrace(PTRACE_CONT, thread, nullptr, 0);  // it then stops with this signal
                continue;
            }
            threads_[thread].signal = ours ? 0 : WSTOPSIG(status);
            if (ours || !has_handler(process_, thread, WSTOPSIG(status))) {
                threads_[thread].ends = restart(process_, thread);
            }
            return true;
        }
        if (found != 0 && !(found < 0 && errno == EINTR)) {
            return true;
        }
        std::this_thread::sleep_for(kPoll);
    }
    return false;
}

// `found`: whether there were threads that had not been seen.
bool HeldThreads::hold_new(bool childless, bool& found) {
    const std::string tasks = "/proc/" + std::to_string(process_) + "/task";
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
        const int thread = std::atoi(task.path().filename().c_str());
        if (seen_.contains(thread) || (childless && has_children(task.path()))) {
            continue;
        }
        seen_.insert(thread);
        found = true;
        if (!stop(thread)) {
            return false;
        }
    }
    return true;
}

bool HeldThreads::hold_childless(int process) {
    process_ = process;
    seen_ = {process};
    // The main thread may make further ones.
    bool found = true;
    for (int pass = 0; found && pass < kMaxPasses; ++pass) {
        found = false;
        if (!hold_new(true, found)) {
            return false;
        }
    }
    return true;
}

bool HeldThreads::hold(int process) {
    process_ = process;
    seen_.insert(process);
    // A thread that is not held yet may make further ones.
    for (bool found = true; found;) {
        found = false;
        if (!hold_new(false, found)) {
            return false;
        }
    }
    return true;
}

bool HeldThreads::unblock(const std::string& file, CallEnds main_ends) {
    std::ofstream records(file, std::ios::binary);
    write(records, {static_cast<uint64_t>(process_), 0, 0, main_ends});
    for (auto& [thread, held] : threads_) {
        if (ptrace(PTRACE_GETSIGMASK, thread, sizeof held.blocked, &held.blocked) != 0) {
            continue;
        }
        // If a signal is blocked when the thread continues with it, the kernel keeps the signal.
        const uint64_t kept = held.signal == 0 ? 0 : bit_of(held.signal);
        const uint64_t blocked = (held.blocked | kept) & ~kNeeded;
        if (blocked != held.blocked) {
            held.changed = set_blocked(thread, blocked);
        }
        write(records, {static_cast<uint64_t>(thread), held.blocked, held.changed, held.ends});
    }
    return static_cast<bool>(records.flush());
}

void HeldThreads::collect_ended() {
    std::erase_if(threads_, [](const auto& entry) {
        int status = 0;
        return waitpid(entry.first, &status, __WALL | WNOHANG) == entry.first &&
               !WIFSTOPPED(status);
    });
}

void HeldThreads::wait_for_signals() {
    const auto end = std::chrono::steady_clock::now() + kLongestStart;
    for (const auto& [thread, held] : threads_) {
        ThreadSignals signals;
        while (std::chrono::steady_clock::now() < end && !is_ending(process_, thread) &&
               read_signals(process_, thread, signals) &&
               (signals.thread_pending & bit_of(SIGILL)) == 0) {
            std::this_thread::sleep_for(kPoll);
        }
    }
}

void HeldThreads::release(bool taken_over) {
    for (const auto& [thread, held] : threads_) {
        if (held.changed && !taken_over) {
            set_blocked(thread, held.blocked);
        }
        const bool again = taken_over && is_fault(thread);
        if (ptrace(PTRACE_DETACH, thread, nullptr, again ? 0 : held.signal) != 0) {
            waitpid(thread, nullptr, __WALL);  // it was killed, see collect_ended()
        }
    }
    threads_.clear();
}

}  // namespace numascape
