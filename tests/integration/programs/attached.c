// SPDX-License-Identifier: Apache-2.0
// Runs until SIGUSR1, to be attached to. THREADS threads each copy `source` to their own part of
// `target` again and again, one read and one write per word, and so does main when there are none.
// With MODE `asleep` main waits in read() for the byte that ends the program; `naps` sleeps again
// and again, and reports a sleep that ended early. Each pass of main allocates a block and writes
// it. At the end the copies are compared with the source: exit status 0, or 1.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

enum { MOST_THREADS = 4, WORDS = 64 * 1024 / 8 };

char source[WORDS * 8] __attribute__((aligned(4096)));
char target[MOST_THREADS][WORDS * 8] __attribute__((aligned(4096)));

static volatile sig_atomic_t stopped;

static void stop(int number) {
    (void)number;
    stopped = 1;
}

static void copy(long* to, const long* from) {
    for (int i = 0; i < WORDS; ++i) to[i] = from[i];
    __asm__ volatile("" ::: "memory");
}

// Adds 1 to every tally, and returns how often. This shows an instruction that ran twice, or did
// not run.
static volatile long tally[MOST_THREADS + 1][8];

static long work(int part) {
    long passes = 0;
    while (!stopped) {
        copy((long*)target[part], (const long*)source);
        ++passes;
        for (int i = 0; i < 64; ++i) tally[part][i % 8] += 1;
    }
    return passes;
}

static void* run(void* part) {
    const long passes = work((int)(long)part);
    for (int i = 0; i < 8; ++i)
        if (tally[(long)part][i] != 8 * passes) return (void*)1;
    return NULL;
}

static void nap(void) {
    struct timespec left = {0, 0};
    const struct timespec wanted = {0, 200 * 1000 * 1000};
    if (nanosleep(&wanted, &left) != 0 && !stopped) puts("short nap");
}

int main(int argc, char** argv) {
    const int threads = argc > 1 ? atoi(argv[1]) : 0;
    const char* mode = argc > 2 ? argv[2] : "";
    struct sigaction action = {0};
    action.sa_handler = stop;
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < WORDS; ++i) ((long*)source)[i] = i * 7 + 1;
    pthread_t thread[MOST_THREADS];
    for (int i = 0; i < threads; ++i) pthread_create(&thread[i], NULL, run, (void*)(long)i);
    copy((long*)target[0], (const long*)source);  // it may be stopped before it does more
    puts("ready");
    fflush(stdout);
    char byte;
    if (strcmp(mode, "asleep") == 0) {
        if (read(0, &byte, 1) != 1) puts("read failed");
        stopped = 1;
    }
    while (!stopped) {
        char* block = malloc(3 * PAGE);
        write_strided(block, 8, 8);
        if (strcmp(mode, "naps") == 0)
            nap();
        else
            copy((long*)target[0], (const long*)source);
        free(block);
    }
    int wrong = 0;
    for (int i = 0; i < threads; ++i) {
        void* miscounted;
        pthread_join(thread[i], &miscounted);
        wrong |= miscounted != NULL || memcmp(source, target[i], sizeof source) != 0;
    }
    if (threads == 0 && strcmp(mode, "") == 0) wrong = memcmp(source, target[0], sizeof source);
    puts(wrong ? "wrong" : "right");
    return wrong ? 1 : 42;
}
