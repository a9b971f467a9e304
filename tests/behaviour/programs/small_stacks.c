// SPDX-License-Identifier: Apache-2.0
// Threads that wait and compute on stacks of two KiB, as those of coroutines and of Go's
// goroutines. Below each stack is other memory. Signals have a stack of their own, of the size that
// Rust gives its threads, also with other memory below it.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "rounds.h"

enum {
    STACK = 2048,
    SIGNAL_STACK = 2 * PAGE,
    BELOW = 16 * PAGE,
    THREADS = 2,
    WAITS = 10,
    STEPS = 1000000,
    FILL = 0x5a,
};

typedef struct {
    ucontext_t outside, inside;
    long sum;
} coroutine;

static void wait_a_little(void) {
    struct timespec millisecond = {0, 1000000};
    long result = SYS_nanosleep;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(&millisecond), "S"(&millisecond)
                     : "rcx", "r11", "memory");
}

static void wait_and_compute(unsigned low, unsigned high) {
    coroutine* own = (coroutine*)(((uintptr_t)high << 32) | low);
    for (int i = 0; i < WAITS; i++) {
        wait_a_little();
        for (long step = 0; step < STEPS / WAITS; step++) own->sum += step ^ i;
    }
}

// Memory that is full of FILL; `bytes` of it are used as a stack, at the end.
static char* above_other_memory(size_t bytes) {
    char* memory =
        mmap(NULL, BELOW + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    memset(memory, FILL, BELOW);
    return memory + BELOW;
}

static void check_below(char* stack, size_t bytes) {
    for (int i = 1; i <= BELOW; i++) CHECK(stack[-i] == FILL);
    CHECK(munmap(stack - BELOW, BELOW + bytes) == 0);
}

static size_t signal_stack_bytes(void) {
    const size_t least = getauxval(AT_MINSIGSTKSZ);
    return least > SIGNAL_STACK ? (least + PAGE - 1) & ~(size_t)(PAGE - 1) : SIGNAL_STACK;
}

static void* run(void* result) {
    const size_t bytes = signal_stack_bytes();
    stack_t own = {.ss_sp = above_other_memory(bytes), .ss_size = bytes};
    stack_t before;
    CHECK(sigaltstack(&own, &before) == 0);

    char* stack = above_other_memory(STACK);
    coroutine one = {.sum = 0};
    CHECK(getcontext(&one.inside) == 0);
    one.inside.uc_stack.ss_sp = stack;
    one.inside.uc_stack.ss_size = STACK;
    one.inside.uc_link = &one.outside;
    const uintptr_t address = (uintptr_t)&one;
    makecontext(&one.inside, (void (*)(void))wait_and_compute, 2, (unsigned)address,
                (unsigned)(address >> 32));
    CHECK(swapcontext(&one.outside, &one.inside) == 0);
    check_below(stack, STACK);

    CHECK(sigaltstack(&before, NULL) == 0);
    check_below(own.ss_sp, bytes);
    *(long*)result = one.sum;
    return NULL;
}

static long work(void) {
    pthread_t threads[THREADS];
    long sums[THREADS + 1];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, run, &sums[i]) == 0);
    run(&sums[THREADS]);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    long sum = 0;
    for (int i = 0; i <= THREADS; i++) sum += sums[i];
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
