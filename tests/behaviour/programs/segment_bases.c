// SPDX-License-Identifier: Apache-2.0
// Memory that is addressed relative to the base of gs, by an instruction that needs four registers
// besides the address, also where it faults; and the instructions that read and write the base.
// Each thread has a base of its own, which new threads inherit.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "rounds.h"

enum { EACH = 200, HWCAP2_FSGSBASE = 2 };

static char* area;  // two pages; the second one cannot be accessed at first
static uint64_t expected_stack;
static volatile long faults;
static atomic_int ends;

static void on_fault(int signal, siginfo_t* info, void* context) {
    const ucontext_t* at = context;
    (void)signal, (void)info;
    CHECK((uint64_t)at->uc_mcontext.gregs[REG_RSP] == expected_stack);
    CHECK(at->uc_mcontext.gregs[REG_RAX] == 1 && at->uc_mcontext.gregs[REG_RDX] == 2);
    CHECK(at->uc_mcontext.gregs[REG_RBX] == 3 && at->uc_mcontext.gregs[REG_RCX] == 4);
    CHECK(mprotect(area + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
    faults++;
}

// Replaces the numbers 1 and 2 at this distance from the base of gs by 3 and 4.
static void exchange(uint64_t distance) {
    uint32_t low = 1, high = 2;
    uint64_t stack;
    __asm__ volatile(
        "movq %%rsp, %[expected]\n\t"
        "lock cmpxchg8b %%gs:(%[distance])\n\t"
        "movq %%rsp, %[stack]"
        : "+a"(low), "+d"(high), [stack] "=&r"(stack), [expected] "=m"(expected_stack)
        : "b"(3), "c"(4), [distance] "r"(distance)
        : "memory", "cc");
    CHECK(stack == expected_stack);
}

static void exchange_at(uint64_t distance) {
    uint32_t* numbers = (uint32_t*)(area + distance);
    if (distance < PAGE) numbers[0] = 1, numbers[1] = 2;
    exchange(distance);
    if (distance < PAGE) CHECK(numbers[0] == 3 && numbers[1] == 4);
}

static void read_and_write_base(void) {
    uint64_t base;
    if ((getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) == 0) return;
    __asm__ volatile("rdgsbase %0" : "=r"(base));
    CHECK(base == (uint64_t)area);
    __asm__ volatile("wrgsbase %0" ::"r"(base + 64));
    __asm__ volatile("rdgsbase %0" : "=r"(base));
    CHECK(base == (uint64_t)area + 64);
    area[64] = 17;
    unsigned char found;
    __asm__ volatile("movb %%gs:0, %0" : "=q"(found));
    CHECK(found == 17);
    __asm__ volatile("wrgsbase %0" ::"r"(base - 64));
    __asm__ volatile("rdfsbase %0" : "=r"(base));
    CHECK(base == *(uint64_t*)__builtin_thread_pointer());
}

static uint64_t base_of_gs(void) {
    uint64_t base;
    CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0);
    return base;
}

static void set_base(uint64_t base) {
    CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, base) == 0);
}

static void* keep_inherited_base(void* base) {
    do CHECK(base_of_gs() == (uint64_t)base && usleep(1000) == 0);
    while (!atomic_load(&ends));
    return NULL;
}

static void* keep_own_base(void* inherited) {
    static const uint64_t number = 29;
    uint64_t found;
    CHECK(base_of_gs() == (uint64_t)inherited);
    set_base((uint64_t)&number);
    do {
        __asm__ volatile("movq %%gs:0, %0" : "=r"(found));
        CHECK(found == number && base_of_gs() == (uint64_t)&number);
    } while (!atomic_load(&ends));
    return NULL;
}

static pthread_t start(void* (*keep)(void*), uint64_t base) {
    pthread_t thread;
    set_base(base);
    CHECK(pthread_create(&thread, NULL, keep, (void*)base) == 0);
    return thread;
}

static long work(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    if (area == NULL) {
        area = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(area != MAP_FAILED && mprotect(area, PAGE, PROT_READ | PROT_WRITE) == 0);
    }
    atomic_store(&ends, 0);
    const pthread_t threads[] = {start(keep_inherited_base, 0), start(keep_own_base, 0),
                                 start(keep_inherited_base, (uint64_t)area),
                                 start(keep_own_base, (uint64_t)area)};
    faults = 0;
    for (int i = 0; i < EACH; i++) {
        exchange_at(8 * (uint64_t)i);
        read_and_write_base();
        // The handler makes the page accessible. Its numbers are different, so nothing is replaced.
        exchange_at(PAGE);
        CHECK(mprotect(area + PAGE, PAGE, PROT_NONE) == 0);
    }
    atomic_store(&ends, 1);
    for (int i = 0; i < (int)(sizeof threads / sizeof *threads); i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    return faults;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
