// SPDX-License-Identifier: Apache-2.0
#include "detach_request.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace numascape {
namespace {

// The first bytes of the nudge's siginfo_t. It is recognised by si_errno, which other senders
// cannot fill.
struct Nudge {
    int32_t signal;
    uint32_t what;  // which nudge in bits 0-27, version 1 in bits 28-29
    int32_t code;
    uint32_t client;
    uint64_t argument;
    char rest[128 - 24];
};
static_assert(sizeof(Nudge) == sizeof(siginfo_t));
constexpr uint32_t kDetachNudge = 1u << 2;
constexpr uint32_t kNudgeVersion = 1u << 28;

bool send(int process, int thread) {
    Nudge nudge{};
    nudge.signal = SIGILL;
    nudge.what = kDetachNudge | kNudgeVersion;
    nudge.code = SI_QUEUE;
    return syscall(SYS_rt_tgsigqueueinfo, process, thread, SIGILL, &nudge) == 0;
}

// Whether a stopped thread has the nudge in its queue of signals.
bool has_nudge(int thread) {
    siginfo_t queued{};
    for (__ptrace_peeksiginfo_args next{0, 0, 1};
         ptrace(PTRACE_PEEKSIGINFO, thread, &next, &queued) == 1; ++next.off) {
        Nudge nudge{};
        std::memcpy(&nudge, &queued, sizeof nudge);
        if (nudge.signal == SIGILL && nudge.what == (kDetachNudge | kNudgeVersion)) {
            return true;
        }
    }
    return false;
}

// Stops a traced thread, but not at the delivery of a signal. False when it has ended.
bool stop(int thread) {
    ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    while (true) {
        int status = 0;
        const pid_t found = waitpid(thread, &status, __WALL);
        if (found < 0 && errno == EINTR) {
            continue;
        }
        if (found != thread || !WIFSTOPPED(status)) {
            return false;
        }
        if (status >> 16 == PTRACE_EVENT_STOP) {
            return true;
        }
        ptrace(PTRACE_CONT, thread, nullptr, WSTOPSIG(status));
    }
}

}  // namespace

bool request_detach(int process, int thread) {
    if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
        // The thread is traced by another process, or has given up privileges in the meantime. It
        // is then not known whether the nudge arrives.
        return errno == EPERM && send(process, thread);
    }
    if (!stop(thread)) {
        return false;
    }
    const bool sent = send(process, thread) && has_nudge(thread);
    ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
    return sent;
}

}  // namespace numascape
