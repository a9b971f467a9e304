// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fnmatch.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <threads.h>

#include "blocks.h"
#include "os.h"
#include "placer.h"
#include "report.h"
#include "spin_lock.h"

extern "C" void* __libc_stack_end;  // of the dynamic linker: where main's stack began

namespace numascape::placer {
namespace {

// A thread that runs.
struct Thread {
    std::uint32_t id;    // 0: the entry is free
    std::uint32_t rule;  // the rule for the thread; kNone: the plan does not name it
    std::uint32_t mask;
    std::uint32_t openmp;  // kNone: not of an OpenMP runtime
    pthread_t handle;
    ThreadReport* report;
};

constexpr std::uint32_t kMaxThreads = 1u << 15;
constexpr std::uint32_t kMaxOpenmp = 4096;
const Plan* the_plan = nullptr;
Thread threads[kMaxThreads];
std::uint32_t used_entries = 0;
bool openmp_taken[kMaxOpenmp];
std::uint32_t name_counts[kMaxRules * 2];  // threads so far that fit each name rule
SpinLock lock;
std::atomic<std::uint32_t> next_order{1};
pthread_key_t ending_key;
thread_local Thread* own = nullptr;

// The argument of a new thread.
struct Start {
    void* function;  // void* (*)(void*), of C11's threads int (*)(void*)
    void* argument;
    std::uint32_t order;
    std::uint32_t openmp;
};

const ThreadPlace* place_in(const Span& places, std::uint32_t number) {
    if (number >= places.count) return nullptr;
    const ThreadPlace* place = the_plan->at<ThreadPlace>(places) + number;
    return place->rule == kNone ? nullptr : place;
}

bool set_mask(std::uint32_t id, std::uint32_t mask) {
    return os::call(SYS_sched_setaffinity, id, static_cast<long>(the_plan->mask_bytes()),
                    reinterpret_cast<long>(the_plan->mask(mask))) == 0;
}

void take_place(Thread& thread, const ThreadPlace* place) {
    if (place == nullptr || (thread.rule != kNone && thread.rule <= place->rule)) return;
    if (!set_mask(thread.id, place->mask)) report_refused(1);
    thread.rule = place->rule;
    thread.mask = place->mask;
    if (thread.report != nullptr) thread.report->mask = place->mask;
}

std::uint32_t take_openmp_number() {
    SpinGuard guard(lock);
    for (std::uint32_t number = 1; number < kMaxOpenmp; ++number) {
        if (!openmp_taken[number]) {
            openmp_taken[number] = true;
            return number;
        }
    }
    return kNone;
}

void give_openmp_number(std::uint32_t number) {
    SpinGuard guard(lock);
    openmp_taken[number] = false;
}

// The entry of this thread; its id marks it as used before another thread can search for one.
Thread* take_entry(std::uint32_t id) {
    SpinGuard guard(lock);
    std::uint32_t i = 0;
    while (i < used_entries && threads[i].id != 0) ++i;
    if (i == kMaxThreads) return nullptr;
    if (i == used_entries) ++used_entries;
    threads[i].id = id;
    return &threads[i];
}

void place_by_name(Thread& thread, const char* name) {
    const Span& names = the_plan->header().names;
    for (std::uint32_t i = 0; i < names.count && i < kMaxRules * 2; ++i) {
        const NameRule& rule = the_plan->at<NameRule>(names)[i];
        if (fnmatch(the_plan->text(rule.pattern), name, 0) != 0) continue;
        if (thread.rule != kNone && thread.rule <= rule.rule) return;
        const std::uint32_t k = std::atomic_ref(name_counts[i]).fetch_add(1);
        const ThreadPlace place{rule.rule, rule.first_mask + k % rule.mask_count};
        return take_place(thread, &place);
    }
}

void begin_thread(std::uint32_t order, std::uint32_t openmp) {
    Thread* thread = take_entry(os::thread_id());
    if (thread == nullptr) return;
    *thread = {thread->id, kNone, kNone, openmp, pthread_self(), report_thread()};
    own = thread;
    if (thread->report != nullptr) {
        *thread->report = {thread->id, order, openmp, kNone, 0, kNone};
    }
    take_place(*thread, place_in(the_plan->header().orders, order));
    if (openmp != kNone) take_place(*thread, place_in(the_plan->header().openmp, openmp));
}

void place_stack(std::uint32_t order) {
    const Span& stacks = the_plan->header().stacks;
    for (std::uint32_t i = 0; i < stacks.count; ++i) {
        const StackRule& stack = the_plan->at<StackRule>(stacks)[i];
        if (stack.order != order) continue;
        pthread_attr_t attributes;
        void* start = nullptr;
        std::size_t bytes = 0;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
        if (pthread_attr_getstack(&attributes, &start, &bytes) == 0) {
            const auto address = reinterpret_cast<std::uint64_t>(start);
            place_now({address, bytes, page_up(address), page_down(address + bytes), stack.rule});
        }
        pthread_attr_destroy(&attributes);
        return;
    }
}

// Moves the top of this thread's stack, up to `top`, to the thread's present node. These pages were
// touched before the thread was bound: by its creator, which writes the thread's control block
// there, by the kernel, and by the first functions of the thread.
void bring_stack(std::uint64_t top) {
    if (own == nullptr || own->rule == kNone) return;
    // If the range is larger, the control block is not on this stack.
    constexpr std::uint64_t kMaxBytes = 16 * kPageBytes;
    const auto begin = page_down(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
    const auto end = page_up(top + 1);
    unsigned cpu = 0;
    unsigned node = 0;
    if (end <= begin || end - begin > kMaxBytes ||
        os::call(SYS_getcpu, reinterpret_cast<long>(&cpu), reinterpret_cast<long>(&node)) != 0) {
        return;
    }
    void* pages[kMaxBytes / kPageBytes];
    int nodes[kMaxBytes / kPageBytes];
    int status[kMaxBytes / kPageBytes];
    long count = 0;
    for (std::uint64_t page = begin; page < end; page += kPageBytes, ++count) {
        pages[count] = reinterpret_cast<void*>(page);
        nodes[count] = static_cast<int>(node);
    }
    // A container may forbid it; then the pages stay.
    os::call(SYS_move_pages, 0, count, reinterpret_cast<long>(pages), reinterpret_cast<long>(nodes),
             reinterpret_cast<long>(status), MPOL_MF_MOVE);
}

// Compares the mask in the kernel with the plan.
void look_at(Thread& thread) {
    if (thread.report == nullptr) return;
    std::uint64_t mask[kMaxCpuWords] = {};
    const long got =
        os::call(SYS_sched_getaffinity, thread.id, sizeof mask, reinterpret_cast<long>(mask));
    if (got <= 0) return;
    thread.report->is_right = thread.rule == kNone || std::memcmp(mask, the_plan->mask(thread.mask),
                                                                  the_plan->mask_bytes()) == 0
                                  ? 1
                                  : 0;
}

// The CPU that a thread ran on last: the 39th field of its line in /proc (proc(5)).
std::uint32_t last_cpu(std::uint32_t id) {
    char text[1024];
    std::snprintf(text, sizeof text, "/proc/self/task/%u/stat", id);
    const auto file = static_cast<int>(
        os::call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(text), O_RDONLY | O_CLOEXEC));
    if (file < 0) return kNone;
    const long got =
        os::call(SYS_read, file, reinterpret_cast<long>(text), static_cast<long>(sizeof text - 1));
    os::close(file);
    if (got <= 0) return kNone;
    text[got] = '\0';
    const char* at = std::strrchr(text, ')');  // the thread's name may have spaces
    for (int field = 2; at != nullptr && field < 39; ++field) at = std::strchr(at + 1, ' ');
    return at == nullptr ? kNone : static_cast<std::uint32_t>(std::atoi(at + 1));
}

void end_thread(void* ended) {
    auto* thread = static_cast<Thread*>(ended);
    own = nullptr;
    if (thread->report != nullptr && !is_silent) {
        look_at(*thread);
        thread->report->last_cpu = static_cast<std::uint32_t>(sched_getcpu());
    }
    if (thread->openmp != kNone) give_openmp_number(thread->openmp);
    SpinGuard guard(lock);
    thread->report = nullptr;
    thread->id = 0;
}

Start begin(void* argument) {
    const Start start = *static_cast<Start*>(argument);
    real().free(argument);
    begin_thread(start.order, start.openmp);
    if (own != nullptr) pthread_setspecific(ending_key, own);
    bring_stack(static_cast<std::uint64_t>(pthread_self()));
    place_stack(start.order);
    return start;
}

void* run(void* argument) {
    const Start start = begin(argument);
    return reinterpret_cast<void* (*)(void*)>(start.function)(start.argument);
}

int run_c11(void* argument) {
    const Start start = begin(argument);
    return reinterpret_cast<int (*)(void*)>(start.function)(start.argument);
}

// Whether the function belongs to an OpenMP runtime, so that it begins a thread of a team.
bool is_openmp(const void* function) {
    Dl_info info{};
    if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return false;
    const char* slash = std::strrchr(info.dli_fname, '/');
    const char* name = slash == nullptr ? info.dli_fname : slash + 1;
    return std::strncmp(name, "libgomp", 7) == 0 || std::strncmp(name, "libomp", 6) == 0 ||
           std::strncmp(name, "libiomp", 7) == 0;
}

// nullptr when there is no plan, or no memory.
Start* new_start(void* function, void* argument) {
    if (the_plan == nullptr || is_silent) return nullptr;
    auto* start = static_cast<Start*>(real().malloc(sizeof(Start)));
    if (start == nullptr) return nullptr;
    // A team's threads are created in the order of their numbers, one after the other.
    *start = {function, argument, next_order.fetch_add(1),
              is_openmp(function) ? take_openmp_number() : kNone};
    return start;
}

void give_up(Start* start) {
    if (start->openmp != kNone) give_openmp_number(start->openmp);
    real().free(start);
}

Thread* find(pthread_t handle) {
    for (std::uint32_t i = 0; i < used_entries; ++i) {
        if (threads[i].id != 0 && pthread_equal(threads[i].handle, handle) != 0) return &threads[i];
    }
    return nullptr;
}

}  // namespace

void threads_begin(const Plan& plan) {
    if (the_plan == nullptr) pthread_key_create(&ending_key, end_thread);
    the_plan = &plan;
    lock.reset();
    std::memset(threads, 0, sizeof(Thread) * used_entries);
    std::memset(openmp_taken, 0, sizeof openmp_taken);
    std::memset(name_counts, 0, sizeof name_counts);
    used_entries = 0;
    next_order.store(1);
    own = nullptr;
    begin_thread(0, 0);
    if (own != nullptr) place_by_name(*own, program_invocation_short_name);
    bring_stack(reinterpret_cast<std::uint64_t>(__libc_stack_end));
}

void look_at_threads() {
    for (std::uint32_t i = 0; i < used_entries; ++i) {
        if (threads[i].id == 0 || threads[i].report == nullptr) continue;
        look_at(threads[i]);
        threads[i].report->last_cpu = last_cpu(threads[i].id);
    }
}

bool is_held(int thread_id) {
    if (the_plan == nullptr) return false;
    if (thread_id == 0) return own != nullptr && own->rule != kNone;
    for (std::uint32_t i = 0; i < used_entries; ++i) {
        if (threads[i].id == static_cast<std::uint32_t>(thread_id)) return threads[i].rule != kNone;
    }
    return false;
}

void tell_given_cpus(std::size_t bytes, void* mask) {
    const std::size_t known = the_plan->mask_bytes();
    std::memset(mask, 0, bytes);
    std::memcpy(mask, the_plan->mask(0), bytes < known ? bytes : known);
}

bool is_held(pthread_t handle) {
    const Thread* thread = the_plan == nullptr ? nullptr : find(handle);
    return thread != nullptr && thread->rule != kNone;
}

}  // namespace numascape::placer

namespace os = numascape::os;
using namespace numascape::placer;

#pragma GCC visibility push(default)
extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
    Start* start = new_start(reinterpret_cast<void*>(function), argument);
    if (start == nullptr) return real().pthread_create(thread, attributes, function, argument);
    const int status = real().pthread_create(thread, attributes, run, start);
    if (status != 0) give_up(start);
    return status;
}

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
    Start* start = new_start(reinterpret_cast<void*>(function), argument);
    if (start == nullptr) return real().thrd_create(thread, function, argument);
    const int status = real().thrd_create(thread, run_c11, start);
    if (status != thrd_success) give_up(start);
    return status;
}

int pthread_setname_np(pthread_t handle, const char* name) {
    const int status = real().pthread_setname_np(handle, name);
    if (status == 0 && the_plan != nullptr && !is_silent) {
        Thread* thread = find(handle);
        // The creator of a thread may set its name before the thread has begun.
        for (int tries = 0; thread == nullptr && tries < 1000; ++tries) {
            os::yield();
            thread = find(handle);
        }
        if (thread != nullptr) place_by_name(*thread, name);
    }
    return status;
}

}  // extern "C"
#pragma GCC visibility pop
