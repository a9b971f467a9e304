// SPDX-License-Identifier: Apache-2.0
// Two threads pass a byte to each other through pipes, on one CPU: each pass is a switch. It prints
// "ready" first. For each line "PASSES TURNS" of input, they make PASSES passes, then one of them
// runs a loop of TURNS turns, and "done" is printed.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int there[2], back[2];

static void* answer(void* nothing) {
    char byte;
    while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) continue;
    return nothing;
}

static void turn(long turns) {
    for (volatile long i = 0; i < turns; i++) continue;
}

int main(void) {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    pthread_t thread;
    if (sched_setaffinity(0, sizeof first, &first) != 0 || pipe(there) != 0 || pipe(back) != 0 ||
        pthread_create(&thread, NULL, answer, NULL) != 0)
        return 1;
    puts("ready");
    fflush(stdout);
    long passes, turns;
    while (scanf("%ld %ld", &passes, &turns) == 2) {
        char byte = 0;
        turn(turns);
        for (long i = 0; i < passes; i += 2) {
            if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return 1;
        }
        puts("done");
        fflush(stdout);
    }
    return 0;
}
