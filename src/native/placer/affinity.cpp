// SPDX-License-Identifier: Apache-2.0
//
// What the program asks about and for its threads' CPUs. A thread that the plan placed is told all
// CPUs that the run was given, because OpenMP's runtimes take their number of threads from that;
// and to bind it elsewhere succeeds without an effect. libomp asks by syscall(2).
#include <cerrno>
#include <cstdarg>

#include <sched.h>

#include "os.h"
#include "placer.h"
#include "threads.h"

namespace numascape::placer {
namespace {

long answer(long result) {
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
    // libomp finds out what the kernel supports with a mask that is none.
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
    const long got = answer(get_affinity(thread, bytes, mask));
    if (got < 0) return -1;
    // The kernel fills in only as much as it has CPUs for.
    for (std::size_t at = static_cast<std::size_t>(got); at < bytes; ++at) {
        reinterpret_cast<char*>(mask)[at] = 0;
    }
    return 0;
}

int sched_setaffinity(pid_t thread, std::size_t bytes, const cpu_set_t* mask) {
    return static_cast<int>(answer(set_affinity(thread, bytes, mask)));
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
        return answer(get_affinity(static_cast<int>(a[0]), static_cast<std::size_t>(a[1]),
                                   reinterpret_cast<void*>(a[2])));
    }
    if (number == SYS_sched_setaffinity) {
        return answer(set_affinity(static_cast<int>(a[0]), static_cast<std::size_t>(a[1]),
                                   reinterpret_cast<const void*>(a[2])));
    }
    return answer(numascape::os::call(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

}  // extern "C"
#pragma GCC visibility pop
