// SPDX-License-Identifier: Apache-2.0
//
// Follows processes that are made without fork(). The C library calls no fork handlers
// (pthread_atfork) for them, so the functions that make them are replaced.
#include <cerrno>
#include <cstdarg>

#include <sched.h>
#include <unistd.h>

#include "forbidden_calls.h"
#include "os.h"
#include "runtime.h"

namespace numascape {
namespace {

template <typename Fork>
long fork_by(Fork fork) {
    threads_before_fork();
    const long result = fork();
    if (result == 0) {
        forked_in_child();
    } else {
        forked_in_parent();
    }
    return result;
}

bool makes_copy(long number, long first) {
    switch (number) {
        case os::kOldFork:
            return true;
        case SYS_clone:
            return (first & CLONE_VM) == 0;
        case SYS_clone3:
            return first != 0 && (*reinterpret_cast<const uint64_t*>(first) & CLONE_VM) == 0;
        default:
            return false;
    }
}

struct Start {
    int (*function)(void*);
    void* argument;
};

int run_child(void* argument) {
    const Start start = *static_cast<const Start*>(argument);
    forked_in_child();
    return start.function(start.argument);
}

}  // namespace

bool concerns_process(long number, long first) {
    return makes_copy(number, first) || forbids_calls(number, first);
}

long call_for_process(long number, const long (&a)[6]) {
    if (forbids_calls(number, a[0])) {
        return call_that_forbids_calls(number, a);
    }
    const auto call = [&] { return os::call(number, a[0], a[1], a[2], a[3], a[4], a[5]); };
    return recording() ? fork_by(call) : call();
}

}  // namespace numascape

using namespace numascape;

NUMASCAPE_EXPORTED pid_t _Fork() {
    static pid_t (*real)() = nullptr;
    const auto fork = next_of(real, "_Fork");
    return static_cast<pid_t>(recording() ? fork_by([&] { return long{fork()}; }) : fork());
}

NUMASCAPE_EXPORTED int clone(int (*function)(void*), void* stack, int flags, void* argument, ...) {
    using Function = int (*)(int (*)(void*), void*, int, void*, pid_t*, void*, pid_t*);
    static Function real = nullptr;
    std::va_list list;
    va_start(list, argument);
    auto* parent = va_arg(list, pid_t*);
    auto* storage = va_arg(list, void*);
    auto* child = va_arg(list, pid_t*);
    va_end(list);
    const auto run = next_of(real, "clone");
    if (!recording() || (flags & CLONE_VM) != 0) {
        return run(function, stack, flags, argument, parent, storage, child);
    }
    // The child reads this from its copy of the parent's stack.
    Start start{function, argument};
    threads_before_fork();
    const int result = run(run_child, stack, flags, &start, parent, storage, child);
    const int error = errno;
    forked_in_parent();
    errno = error;
    return result;
}
