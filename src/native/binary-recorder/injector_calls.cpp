// SPDX-License-Identifier: Apache-2.0
//
// The launcher library makes its ptrace calls with dynamorio_syscall, and waits with waitpid. The
// linker (--wrap) replaces both by ours. This is the only possible place, because the library stops
// the thread and lets it continue in one function.
#include "injector_calls.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "held_threads.h"
#include "interrupted_call.h"
#include "thread_registers.h"
#include "thread_signals.h"

namespace {

// Signals that the launcher library waits for or passes on itself. The first two mark the end of
// its code.
constexpr int kExpected[] = {SIGTRAP, SIGSTOP, SIGSEGV, SIGILL};

// A thread that gets signals continuously is taken over between two of them.
constexpr int kMaxSignals = 1000;

struct Injection {
    int process = 0;  // 0 = no injection is in progress
    bool fresh = false;
    numascape::Untraced untraced;
    std::vector<siginfo_t> signals;   // sent again when the injection is over
    std::optional<uint64_t> blocked;  // the signals that the main thread blocks, if known
    bool in_call = false;             // the main thread makes a system call of the launcher
    std::string file;                 // about the threads, for DynamoRIO (held_threads.h)
    numascape::HeldThreads others;
};

Injection injection;

}  // namespace

extern "C" {

long __real_dynamorio_syscall(unsigned number, unsigned count, long a, long b, long c, long d,
                              long e, long f);
pid_t __real_waitpid(pid_t thread, int* status, int options);
}

namespace {

long trace(int request, int thread, long data) {
    return __real_dynamorio_syscall(SYS_ptrace, 4, request, thread, 0, data, 0, 0);
}

constexpr auto kPoll = std::chrono::microseconds(100);
constexpr int kPollsForSignal = 100;

// The signal with which the main thread stops for a handler; 0 if another thread took the signal.
int stop_for_signal(int process) {
    for (int i = 0; i < kPollsForSignal; ++i) {
        int status = 0;
        if (__real_waitpid(process, &status, WNOHANG) == process) {
            return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
        }
        std::this_thread::sleep_for(kPoll);
    }
    return 0;
}

// Delivers the pending signals of the main thread before the thread is made to execute something
// else. The thread enters the handler of each signal and stops again. If we sent the signal again
// later, the handler would see another sender. A signal that was sent to the process may go to
// another thread instead.
void let_signals_come(numascape::ThreadRegisters& registers) {
    const int process = injection.process;
    int status = 0;
    for (int i = 0; i < kMaxSignals && numascape::signal_comes(process, process); ++i) {
        trace(PTRACE_CONT, process, 0);
        const int signal = stop_for_signal(process);
        if (signal != SIGSTOP) {
            if (signal != 0) {
                trace(PTRACE_CONT, process, signal);
            }
            syscall(SYS_tgkill, process, process, SIGSTOP);
            if (waitpid(process, &status, 0) != process || !WIFSTOPPED(status)) {
                return;
            }
        }
        trace(numascape::kReadRegisters, process, reinterpret_cast<long>(&registers));
    }
}

constexpr uint64_t bit_of(int signal) {
    return uint64_t{1} << (signal - 1);
}
constexpr uint64_t kFaults = bit_of(SIGTRAP) | bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGILL);

void set_blocked(uint64_t blocked) {
    __real_dynamorio_syscall(SYS_ptrace, 4, PTRACE_SETSIGMASK, injection.process, sizeof blocked,
                             reinterpret_cast<long>(&blocked), 0, 0);
}

void end_call() {
    if (injection.in_call) {
        set_blocked(*injection.blocked);
        injection.in_call = false;
    }
}

// Before and after a system call of the launcher, the thread stops with SIGTRAP. If SIGTRAP were
// blocked at such a stop, the kernel would remove the program's handler for it. A thread that is in
// its own handler for SIGTRAP does block it. During the call, all signals except faults are
// therefore blocked, and SIGTRAP is not. The call starts when the launcher sets the program
// counter, and ends when the launcher restores the registers.
void mask_signals_of_call(long request, long place) {
    if (request == PTRACE_POKEUSER && place == numascape::kPlaceOfProgramCounter &&
        injection.blocked) {
        set_blocked(~kFaults);
        injection.in_call = true;
    } else if (request == numascape::kWriteRegisters) {
        end_call();
    }
}

// The signal with which the thread has stopped.
siginfo_t signal_that_came() {
    siginfo_t info{};
    trace(PTRACE_GETSIGINFO, injection.process, reinterpret_cast<long>(&info));
    return info;
}

// We may send a signal with its cause only if a timer, a queue or sigqueue sent it. The kernel
// refuses all other causes from us.
void send_again(int process, const siginfo_t& info) {
    if (info.si_code >= 0 || info.si_code == SI_TKILL ||
        syscall(SYS_rt_tgsigqueueinfo, process, process, info.si_signo, &info) != 0) {
        syscall(SYS_tgkill, process, process, info.si_signo);
    }
}

// Whether the current instruction of the main thread caused the signal, and not another sender.
// DynamoRIO, once started, sends such signals to itself.
bool is_fault() {
    return signal_that_came().si_code > 0;
}

bool is_expected(int signal) {
    if (injection.in_call && signal != SIGSTOP) {
        return (bit_of(signal) & kFaults) != 0 && is_fault();
    }
    return std::find(std::begin(kExpected), std::end(kExpected), signal) != std::end(kExpected);
}

void cannot_hold() {
    injection.untraced.error = injection.others.error();
    if (injection.untraced.error == 0) {
        injection.untraced.reason = "has a thread that cannot be stopped now: try again";
    }
}

// As waitpid. If the process is killed, its held threads must be collected first.
pid_t wait_for(pid_t thread, int* status, int options) {
    if (injection.process == 0 || thread != injection.process || (options & WNOHANG) != 0) {
        return __real_waitpid(thread, status, options);
    }
    while (true) {
        const pid_t found = __real_waitpid(thread, status, options | WNOHANG);
        if (found != 0) {
            return found;
        }
        injection.others.collect_ended();
        std::this_thread::sleep_for(kPoll);
    }
}

}  // namespace

extern "C" {

long __wrap_dynamorio_syscall(unsigned number, unsigned count, long a, long b, long c, long d,
                              long e, long f) {
    const long result = __real_dynamorio_syscall(number, count, a, b, c, d, e, f);
    if (number != SYS_ptrace || injection.process == 0 || b != injection.process) {
        return result;
    }
    if (a == PTRACE_ATTACH && result < 0) {
        injection.untraced.error = static_cast<int>(-result);
    }
    if (a != numascape::kReadRegisters || result < 0 || !injection.fresh) {
        mask_signals_of_call(a, c);
        return result;
    }
    auto& registers = *reinterpret_cast<numascape::ThreadRegisters*>(d);
    let_signals_come(registers);
    injection.fresh = false;  // stopped, and nothing is changed yet
    uint64_t blocked = 0;
    if (__real_dynamorio_syscall(SYS_ptrace, 4, PTRACE_GETSIGMASK, injection.process,
                                 sizeof blocked, reinterpret_cast<long>(&blocked), 0, 0) == 0) {
        injection.blocked = blocked;
    }
    if (!injection.others.hold(injection.process)) {
        cannot_hold();
        return -EUNATCH;
    }
    const numascape::ThreadRegisters before = registers;
    const auto ends = numascape::restart_call(injection.process, registers);
    if (!injection.others.unblock(injection.file, ends.value_or(numascape::CallEnds::kNever))) {
        registers = before;
        injection.untraced.reason = "cannot be recorded: " + injection.file + " cannot be written";
        return -EUNATCH;
    }
    if (ends) {
        trace(numascape::kWriteRegisters, injection.process, d);
    }
    return result;
}

pid_t __wrap_waitpid(pid_t thread, int* status, int options) {
    while (true) {
        const pid_t found = wait_for(thread, status, options);
        if (found < 0 && errno == EINTR && injection.process != 0) {
            continue;  // such a signal is handled after the injection
        }
        const bool stopped =
            found > 0 && found == injection.process && status != nullptr && WIFSTOPPED(*status);
        if (stopped && injection.fresh && WSTOPSIG(*status) != SIGSTOP) {
            trace(PTRACE_CONT, found, WSTOPSIG(*status));  // our SIGSTOP has not arrived yet
            continue;
        }
        if (!stopped || is_expected(WSTOPSIG(*status))) {
            return found;
        }
        injection.signals.push_back(signal_that_came());
        trace(injection.in_call ? PTRACE_SYSCALL : PTRACE_CONT, found, 0);
    }
}
}

namespace numascape {

std::optional<Untraced> watch_injection(int process, const std::string& file, bool (*inject)(void*),
                                        void* argument) {
    injection.process = process;
    injection.file = file;
    injection.fresh = true;
    const bool held = injection.others.hold_childless(process);
    if (!held) {
        cannot_hold();
    }
    const bool injected = held && inject(argument);
    end_call();  // if it failed there
    injection.process = 0;
    if (injected) {
        injection.others.wait_for_signals();
    }
    injection.others.release(injected);
    for (const siginfo_t& signal : injection.signals) {
        send_again(process, signal);
    }
    return injected ? std::nullopt : std::optional(injection.untraced);
}

}  // namespace numascape
