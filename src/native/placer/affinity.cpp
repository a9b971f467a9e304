// SPDX-License-Identifier: Apache-2.0
//
// The affinity functions that the program calls. For a thread in the plan, the answer is all CPUs
// of the run, because OpenMP runtimes derive their number of threads from it. Binding such a thread
// elsewhere succeeds without effect. libomp uses syscall(2) for this.
#include <cerrno>
#include <cstdarg>

#include <sched.h>
#include <sys/prctl.h>

#include "forbidden_calls.h"
#include "mappings.h"
#include "os.h"
#include "placer.h"
#include "threads.h"

namespace numascape::placer {
namespace {

long to_errno(long result) {
    if (result < 0 && result > -4096) {
        errno = static_cast<int>(-result);
        return -1;
    }
    return result;
}

long get_affinity(int thread, std::size_t bytes, void* mask) {
    const long got = os::call(SYS_sched_getaffinity, thread, static_cast<long>(bytes),
                              reinterpret_cast<long>(mask));
    if (got > 0 && is_held(thread)) tell_given_cpus(static_cast<std::size_t>(got), mask);
    return got;
}

long set_affinity(int thread, std::size_t bytes, const void* mask) {
    // libomp passes an invalid mask to find out what the kernel supports.
    if (mask != nullptr && is_held(thread)) return 0;
    return os::call(SYS_sched_setaffinity, thread, static_cast<long>(bytes),
                    reinterpret_cast<long>(mask));
}

}  // namespace
}  // namespace numascape::placer

using namespace numascape::placer;

#pragma GCC visibility push(default)
extern "C" {

int sched_getaffinity(pid_t thread, std::size_t bytes, cpu_set_t* mask) {
    const long got = to_errno(get_affinity(thread, bytes, mask));
    if (got < 0) return -1;
    // The kernel fills in only as much as it has CPUs for.
    for (std::size_t at = static_cast<std::size_t>(got); at < bytes; ++at) {
        reinterpret_cast<char*>(mask)[at] = 0;
    }
    return 0;
}

int sched_setaffinity(pid_t thread, std::size_t bytes, const cpu_set_t* mask) {
    return static_cast<int>(to_errno(set_affinity(thread, bytes, mask)));
}

int pthread_getaffinity_np(pthread_t thread, std::size_t bytes, cpu_set_t* mask) {
    const int status = real().pthread_getaffinity_np(thread, bytes, mask);
    if (status == 0 && is_held(thread)) tell_given_cpus(bytes, mask);
    return status;
}

int pthread_setaffinity_np(pthread_t thread, std::size_t bytes, const cpu_set_t* mask) {
    if (is_held(thread)) return 0;
    return real().pthread_setaffinity_np(thread, bytes, mask);
}

long syscall(long number, ...) {
    std::va_list arguments;
    va_start(arguments, number);
    long a[6];
    for (long& argument : a) argument = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_sched_getaffinity) {
        return to_errno(get_affinity(static_cast<int>(a[0]), static_cast<std::size_t>(a[1]),
                                     reinterpret_cast<void*>(a[2])));
    }
    if (number == SYS_sched_setaffinity) {
        return to_errno(set_affinity(static_cast<int>(a[0]), static_cast<std::size_t>(a[1]),
                                     reinterpret_cast<const void*>(a[2])));
    }
    if (number == SYS_mmap || number == SYS_munmap || number == SYS_mremap) {
        numascape::SystemCall call{number, {}, {}};
        for (int i = 0; i < 6; ++i) call.arguments[i] = static_cast<std::uint64_t>(a[i]);
        return to_errno(call_and_follow(call));
    }
    if (numascape::forbids_calls(number, a[0])) return to_errno(call_that_forbids_calls(number, a));
    return to_errno(numascape::os::call(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

int prctl(int option, ...) {
    std::va_list arguments;
    va_start(arguments, option);
    long a[6] = {option};
    for (int i = 1; i < 5; ++i) a[i] = va_arg(arguments, long);
    va_end(arguments);
    return static_cast<int>(
        to_errno(numascape::forbids_calls(SYS_prctl, option)
                     ? call_that_forbids_calls(SYS_prctl, a)
                     : numascape::os::call(SYS_prctl, a[0], a[1], a[2], a[3], a[4])));
}

}  // extern "C"
#pragma GCC visibility pop
