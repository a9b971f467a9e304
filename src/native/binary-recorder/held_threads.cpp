// SPDX-License-Identifier: Apache-2.0
#include "held_threads.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <thread>

#include <sys/ptrace.h>
#include <sys/wait.h>

namespace numascape {
namespace {

constexpr auto kLongestWait = std::chrono::seconds(5);
constexpr auto kPoll = std::chrono::microseconds(200);

}  // namespace

// A thread may end at any time: then there is nothing to hold.
bool HeldThreads::stop(int thread) {
    if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
        return errno == ESRCH;
    }
    ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    const auto end = std::chrono::steady_clock::now() + kLongestWait;
    while (std::chrono::steady_clock::now() < end) {
        int status = 0;
        const pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
        if (found == thread && WIFSTOPPED(status)) {
            const bool ours = status >> 16 == PTRACE_EVENT_STOP;
            signals_[thread] = ours ? 0 : WSTOPSIG(status);
            return true;
        }
        if (found != 0 && !(found < 0 && errno == EINTR)) {
            return true;
        }
        std::this_thread::sleep_for(kPoll);
    }
    return false;
}

bool HeldThreads::hold(int process) {
    const std::string tasks = "/proc/" + std::to_string(process) + "/task";
    std::set<int> seen{process};
    // A thread that is not held yet may make further ones.
    for (bool found = true; found;) {
        found = false;
        std::error_code error;
        for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
            const int thread = std::atoi(task.path().filename().c_str());
            if (!seen.insert(thread).second) {
                continue;
            }
            found = true;
            if (!stop(thread)) {
                return false;
            }
        }
    }
    return true;
}

void HeldThreads::release() {
    for (const auto& [thread, signal] : signals_) {
        ptrace(PTRACE_DETACH, thread, nullptr, signal);
    }
    signals_.clear();
}

}  // namespace numascape
