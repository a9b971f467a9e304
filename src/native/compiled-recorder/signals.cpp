// SPDX-License-Identifier: Apache-2.0
//
// A signal handler may run at any instruction, even while we write. It is counted code, so it would
// enter the recorder again. The kernel therefore gets our handler instead of the program's. If the
// thread is writing, our handler sends the signal once more and returns with all signals blocked.
// The kernel keeps the signal, and delivers it at the end of the writing. Otherwise our handler
// calls the program's. If the program asks for its handlers, it gets its own.
//
// The kernel delivers real-time signals of one number in the order in which they were sent. A
// signal that is sent again would come after those that were queued meanwhile. Therefore its
// contents wait in a list of the thread, and a token is queued in its place. A signal that is not a
// token puts its own contents at the end of the list. Each delivery takes the first contents of its
// number from the list.
#include <algorithm>
#include <cerrno>

#include <signal.h>
#include <ucontext.h>

#include "os.h"
#include "runtime.h"
#include "signal_frame.h"

namespace numascape {
namespace {

constexpr int kSignals = 65;
constexpr uint64_t bit_of(int number) {
    return uint64_t{1} << (number - 1);
}
// A signal that the thread's own instruction caused cannot wait.
constexpr uint64_t kFaults = bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGFPE) | bit_of(SIGILL) |
                             bit_of(SIGTRAP) | bit_of(SIGSYS);

// The program's handlers, by signal; the highest bit is its SA_SIGINFO.
constexpr uint64_t kWithInfo = uint64_t{1} << 63;
std::atomic<uint64_t> handlers[kSignals];
std::atomic<bool> taken_over{false};
SpinLock lock;
uint64_t interrupting = 0;  // signals for which siginterrupt(3) is set

using Action = struct sigaction;
using Handler = void (*)(int, siginfo_t*, void*);

int set_really(int number, const Action* action, Action* before) {
    static int (*real)(int, const Action*, Action*) = nullptr;
    return next_of(real, "sigaction")(number, action, before);
}

bool is_handler(const Action& action) {
    return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

uint64_t packed(const Action& action) {
    return reinterpret_cast<uint64_t>(action.sa_handler) |
           ((action.sa_flags & SA_SIGINFO) != 0 ? kWithInfo : 0);
}

// A thread's list of delayed signals is only changed while all signals except faults are blocked.
// Returns the mask from before.
uint64_t block_signals() {
    constexpr uint64_t kAll = ~kFaults;
    uint64_t before = 0;
    os::call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&kAll),
             reinterpret_cast<long>(&before), sizeof kAll);
    return before;
}

bool send_to_itself(int number, const siginfo_t& info) {
    return os::call(SYS_rt_tgsigqueueinfo, os::process_id(), os::thread_id(), number,
                    reinterpret_cast<long>(&info)) >= 0;
}

constexpr int kFirstRealTime = 32;       // the kernel's, two less than the C library's
constexpr int kTokenError = 0x6e756d61;  // no other sender sets si_errno

// The kernel accepts SI_USER even if no more signals may be queued, but then it forgets the other
// fields.
void send_token(int number) {
    siginfo_t token{};
    token.si_signo = number;
    token.si_errno = kTokenError;
    token.si_code = SI_USER;
    send_to_itself(number, token);
}

bool is_token(const siginfo_t& info) {
    return info.si_code == SI_USER &&
           (info.si_errno == kTokenError ||
            (info.si_errno == 0 && info.si_pid == 0 && thread_state.delayed_count != 0));
}

int number_of(const QueuedSignal& queued) {
    return static_cast<int>(queued.words[0]);
}

// False if the list is full.
bool append(const siginfo_t& info) {
    ThreadState& state = thread_state;
    if (state.delayed_count == kDelayedSignals) {
        return false;
    }
    __builtin_memcpy(&state.delayed[state.delayed_count++], &info, sizeof(QueuedSignal));
    return true;
}

// Exchanges a delivered signal for the first waiting signal of its number. False if it is a token
// and no signal waits.
bool take_turn(int number, siginfo_t& info) {
    const bool token = is_token(info);
    ThreadState& state = thread_state;
    if (!token && state.delayed_count == 0) {
        return true;
    }
    const uint64_t mask = block_signals();
    QueuedSignal* end = state.delayed + state.delayed_count;
    QueuedSignal* first = std::find_if(state.delayed, end, [&](const QueuedSignal& queued) {
        return number_of(queued) == number;
    });
    const bool waits = first != end;
    if (waits) {
        const QueuedSignal taken = *first;
        std::copy(first + 1, end, first);
        --state.delayed_count;
        if (!token) {
            append(info);
        }
        __builtin_memcpy(&info, &taken, sizeof taken);
    }
    os::call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), 0, sizeof mask);
    return waits || !token;
}

void defer(int number, const siginfo_t& info, ucontext_t* context) {
    // The kernel's mask has 64 bits. If several handlers interrupted each other, the first was
    // entered with the fewest signals blocked.
    auto* mask = reinterpret_cast<uint64_t*>(&context->uc_sigmask);
    block_signals();
    thread_state.let_in |= ~*mask;
    thread_state.deferred = true;
    *mask |= ~kFaults;
    if (number >= kFirstRealTime && (is_token(info) || append(info))) {
        send_token(number);
    } else if (!send_to_itself(number, info)) {
        os::call(SYS_tgkill, os::process_id(), os::thread_id(), number);
    }
}

void handle(int number, siginfo_t* info, void* context);

// A one-shot handler (SA_RESETHAND) must still be installed for the delayed delivery.
void keep_for_once(int number) {
    Action action{};
    if (set_really(number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL &&
        (action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
        action.sa_sigaction = handle;
        set_really(number, &action, nullptr);
    }
}

void handle(int number, siginfo_t* info, void* context) {
    ThreadState& state = thread_state;
    const bool of_this_instruction = (kFaults & bit_of(number)) != 0 && info->si_code > 0;
    auto* interrupted = static_cast<ucontext_t*>(context);
    const uint64_t stack_pointer = interrupted_stack_pointer(*interrupted);
    const bool in_recorder = state.writing != 0 || is_on_own_stack(stack_pointer);
    if (in_recorder && !of_this_instruction && shard.makes_calls()) {
        const int error = errno;
        defer(number, *info, interrupted);
        keep_for_once(number);
        errno = error;
        return;
    }
    if (number >= kFirstRealTime && shard.makes_calls() && !take_turn(number, *info)) {
        return;
    }
    const uint64_t handler = handlers[number].load(std::memory_order_acquire) & ~kWithInfo;
    // The interrupted code may be the malloc of the C library, called by us. The actions of the
    // handler belong to the program.
    const bool inside = state.inside;
    state.inside = inside && in_recorder;
    reinterpret_cast<Handler>(handler)(number, info, context);
    state.inside = inside;
}

}  // namespace

void let_signals_in() {
    if (is_on_own_stack(reinterpret_cast<uint64_t>(__builtin_frame_address(0)))) {
        return;
    }
    while (thread_state.deferred) {
        const uint64_t mask = ~thread_state.let_in;
        thread_state.let_in = 0;
        thread_state.deferred = false;
        os::call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), 0, sizeof mask);
    }
}

void signals_before_fork() {
    lock.lock();
}

void signals_after_fork(bool child) {
    lock.unlock();
    if (child) {
        thread_state.delayed_count = 0;  // no signal is queued for the child, so no token either
    }
}

void take_over_handlers() {
    taken_over.store(true);
    for (int number = 1; number < kSignals; ++number) {
        Action action{};
        if (set_really(number, nullptr, &action) == 0 && is_handler(action)) {
            handlers[number].store(packed(action));
            action.sa_sigaction = handle;
            action.sa_flags |= SA_SIGINFO;
            set_really(number, &action, nullptr);
        }
    }
}

namespace {

int set_action(int number, const Action* wanted, Action* before) {
    if (number < 1 || number >= kSignals || !taken_over.load()) {
        return set_really(number, wanted, before);
    }
    const ReentrancyGuard inside;
    SpinGuard guard(lock);
    const uint64_t known = handlers[number].load();
    Action action{};
    // A child of vfork shares the memory of its parent, but not its signals.
    const bool ours = wanted != nullptr && is_handler(*wanted) &&
                      (!shard.makes_calls() || shard.is_of_this_process());
    if (wanted != nullptr) {
        action = *wanted;
    }
    if (ours) {
        handlers[number].store(packed(*wanted), std::memory_order_release);
        action.sa_sigaction = handle;
        action.sa_flags |= SA_SIGINFO;
    }
    Action found{};
    const int result = set_really(number, wanted != nullptr ? &action : nullptr, &found);
    if (result != 0) {
        handlers[number].store(known, std::memory_order_release);
        return result;
    }
    if (before != nullptr) {
        *before = found;
        if (found.sa_sigaction == handle) {
            before->sa_handler = reinterpret_cast<sighandler_t>(known & ~kWithInfo);
            before->sa_flags &= (known & kWithInfo) != 0 ? ~0 : ~SA_SIGINFO;
        }
    }
    return 0;
}

sighandler_t set_handler(int number, sighandler_t handler, int flags) {
    Action action{};
    Action before{};
    if (number < 1 || number >= kSignals || handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    if ((flags & SA_NODEFER) == 0) {
        sigaddset(&action.sa_mask, number);
    }
    return set_action(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

}  // namespace
}  // namespace numascape

NUMASCAPE_EXPORTED int sigaction(int number, const struct sigaction* wanted,
                                 struct sigaction* before) {
    return numascape::set_action(number, wanted, before);
}

NUMASCAPE_EXPORTED sighandler_t signal(int number, sighandler_t handler) {
    const bool interrupts = number > 0 && number < numascape::kSignals &&
                            (numascape::interrupting & numascape::bit_of(number)) != 0;
    return numascape::set_handler(number, handler, interrupts ? 0 : SA_RESTART);
}

NUMASCAPE_EXPORTED sighandler_t bsd_signal(int number, sighandler_t handler) {
    return signal(number, handler);
}

NUMASCAPE_EXPORTED sighandler_t ssignal(int number, sighandler_t handler) {
    return signal(number, handler);
}

NUMASCAPE_EXPORTED sighandler_t __sysv_signal(int number, sighandler_t handler) {
    return numascape::set_handler(number, handler, static_cast<int>(SA_RESETHAND) | SA_NODEFER);
}

NUMASCAPE_EXPORTED sighandler_t sysv_signal(int number, sighandler_t handler) {
    return __sysv_signal(number, handler);
}

NUMASCAPE_EXPORTED int siginterrupt(int number, int interrupts) {
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) != 0) {
        return -1;
    }
    const uint64_t bit = numascape::bit_of(number);
    if (interrupts != 0) {
        numascape::interrupting |= bit;
        action.sa_flags &= ~SA_RESTART;
    } else {
        numascape::interrupting &= ~bit;
        action.sa_flags |= SA_RESTART;
    }
    return sigaction(number, &action, nullptr);
}
