// SPDX-License-Identifier: Apache-2.0
//
// signals_in_loops LOOP: two threads are in the same loop until each has got a signal, ROUNDS
// times. A loop makes no system call and calls no function that may. LOOP: `strings` copies with
// one instruction, `marks` sets phases, `plain` does neither. Prints how many rounds ended.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../include/numascape/phase.h"

enum { THREADS = 2, ROUNDS = 100, BYTES = 4096 };

static _Thread_local volatile sig_atomic_t stopped;
static atomic_int loops;
static atomic_int left;
static char from[BYTES], to[THREADS][BYTES];

static void stop(int number) {
    (void)number;
    stopped = 1;
}

__attribute__((noinline)) static void strings(char* target) {
    while (!stopped) {
        void* destination = target;
        const void* source = from;
        unsigned long bytes = BYTES;
        __asm__ volatile("rep movsb" : "+D"(destination), "+S"(source), "+c"(bytes)::"memory");
    }
}

__attribute__((noinline)) static void marks(char* target) {
    while (!stopped) {
        numascape_phase("one");
        *(volatile char*)target += 1;
    }
}

__attribute__((noinline)) static void plain(char* target) {
    while (!stopped) {
        *(volatile char*)target += 1;
    }
}

struct work {
    void (*loop)(char*);
    char* target;
};

static void* run(void* argument) {
    const struct work* work = argument;
    for (int round = 0; round < ROUNDS; ++round) {
        stopped = 0;
        const int now = atomic_fetch_add(&loops, 1) + 1;
        work->loop(work->target);
        atomic_fetch_add(&left, 1);
        // Neither begins again before both have ended.
        while (atomic_load(&left) < (now + THREADS - 1) / THREADS * THREADS) {
            usleep(50);
        }
    }
    return NULL;
}

int main(int count, char* arguments[]) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count < 2) {
        return 2;
    }
    void (*const loop)(char*) = strcmp(arguments[1], "strings") == 0 ? strings
                                : strcmp(arguments[1], "marks") == 0 ? marks
                                                                     : plain;
    signal(SIGUSR1, stop);
    pthread_t threads[THREADS];
    struct work work[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        work[i] = (struct work){loop, to[i]};
        pthread_create(&threads[i], NULL, run, &work[i]);
    }
    for (int round = 0; round < ROUNDS; ++round) {
        while (atomic_load(&loops) < THREADS * (round + 1)) {
            usleep(50);
        }
        usleep(100 + 37 * (round % 20));
        for (int i = 0; i < THREADS; ++i) {
            pthread_kill(threads[i], SIGUSR1);
        }
        for (int waited = 0; atomic_load(&left) < THREADS * (round + 1); ++waited) {
            usleep(1000);
            if (waited > 60 * 1000) {
                printf("round %d: a thread did not get its signal\n", round);
                _exit(1);
            }
        }
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
    }
    printf("%d rounds\n", ROUNDS);
    return 0;
}
