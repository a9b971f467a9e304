// SPDX-License-Identifier: Apache-2.0
// Waves of two threads, each in a phase: "first", "second", and "first" again. Thread t of all
// executes 9 (t + 1) MILLION / 2 instructions of a loop in registers, 3 (t + 1) MILLION of a loop
// that reads memory, and a loop that only waits.
#include <pthread.h>
#include <stdio.h>

#include "numascape/phase.h"

enum { MILLION = 1000000, THREADS = 6, AT_ONCE = 2 };

static long read_again[512] __attribute__((aligned(4096)));

// Four and five instructions in turn: its blocks begin at the test, the addition and the label 2.
static void compute(long iterations) {
    long sum = 0;
    __asm__ volatile(
        "1: test $1, %[left]\n jz 2f\n add $1, %[sum]\n"
        "2: dec %[left]\n jnz 1b\n"
        : [left] "+r"(iterations), [sum] "+r"(sum)::"cc");
}

static void read_memory(long iterations) {
    long got = 0;
    __asm__ volatile("1: mov (%[from]), %[got]\n dec %[left]\n jnz 1b\n"
                     : [left] "+r"(iterations), [got] "=&r"(got)
                     : [from] "r"(read_again)
                     : "cc", "memory");
}

static void wait_long(long iterations) {
    __asm__ volatile("1: pause\n dec %[left]\n jnz 1b\n" : [left] "+r"(iterations)::"cc");
}

static void* run(void* argument) {
    long iterations = ((long)argument + 1) * MILLION;
    compute(iterations);
    read_memory(iterations);
    wait_long(MILLION);
    return NULL;
}

int main(void) {
    const char* phases[] = {"first", "second", "first"};
    for (long wave = 0; wave < THREADS / AT_ONCE; wave++) {
        numascape_phase(phases[wave]);
        pthread_t threads[AT_ONCE];
        for (long i = 0; i < AT_ONCE; i++)
            if (pthread_create(&threads[i], NULL, run, (void*)(wave * AT_ONCE + i)) != 0) {
                fprintf(stderr, "cannot start a thread\n");
                return 1;
            }
        for (long i = 0; i < AT_ONCE; i++) pthread_join(threads[i], NULL);
    }
    return 0;
}
