// SPDX-License-Identifier: Apache-2.0
// phases MODE [NUMBER [ROUNDS]]: accesses that are known in closed form, in parallel regions and
// under marks. Each thread has PART words of `data`; the accesses are those of kernels.h.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"
#include "numascape/phase.h"

enum { THREADS = 4, PART = 1024, PAGES = THREADS * PART * 8 / PAGE };

long data[THREADS * PART] __attribute__((aligned(PAGE)));
long other[THREADS * PART] __attribute__((aligned(PAGE)));

static long number, rounds;

static long* part(long thread) {
    return &data[thread * PART];
}

// Data is written, read `number` times, and then read by main alone.
static void regions(void) {
#pragma omp parallel num_threads(THREADS)  // region: write
    write_strided(part(omp_get_thread_num()), PART, 8);
    for (long i = 0; i < number; ++i) {
#pragma omp parallel for schedule(dynamic) num_threads(THREADS)  // region: read
        for (int t = 0; t < THREADS; ++t) read_strided(part(t), PART, 8);
    }
    read_strided(data, THREADS * PART, 8);
}

static void nested(void) {
    omp_set_max_active_levels(2);
    write_strided(data, THREADS * PART, 8);
#pragma omp parallel num_threads(2)  // region: outer
    {
        const int outer = omp_get_thread_num();
        add_strided(part(2 * outer), PART, 8);
#pragma omp parallel num_threads(2)  // region: inner
        read_strided(part(2 * outer + omp_get_thread_num()), PART, 8);
    }
}

static void loop(void) {
    for (long i = 0; i < number; ++i) {
#pragma omp parallel num_threads(2)  // region: loop
        write_strided(part(omp_get_thread_num()), 1, 8);
    }
}

static void marks(void) {
    numascape_phase("write");
    write_strided(data, THREADS * PART, 8);
    numascape_phase("read");
    read_strided(data, THREADS * PART, 8);
    read_strided(data, THREADS * PART, 8);
    numascape_phase(NULL);
    read_strided(data, PART, 8);
    for (long i = 0; i < number; ++i) {
        numascape_phase("add");
        add_strided(data, PART, 8);
    }
    numascape_phase("");
    add_strided(data, 1, 8);
}

static void marked_region(void) {
    numascape_phase("mine");
#pragma omp parallel num_threads(THREADS)  // region: marked
    add_strided(part(omp_get_thread_num()), 512, 8);
    numascape_phase(NULL);
#pragma omp parallel num_threads(THREADS)  // region: unmarked
    read_strided(part(omp_get_thread_num()), PART, 8);
}

static pthread_barrier_t barrier;
static const char* const kNames[THREADS] = {"zero", "one", "two", "three"};

// In step s, thread s sets the mark; then all threads write their first page s + 1 times.
static void* marking(void* argument) {
    const long thread = (long)argument;
    for (long step = 0; step < THREADS; ++step) {
        pthread_barrier_wait(&barrier);
        if (step == thread) numascape_phase(kNames[step]);
        pthread_barrier_wait(&barrier);
        for (long i = 0; i <= step; ++i) write_strided(part(thread), 512, 8);
    }
    return NULL;
}

static void marking_threads(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, marking, (void*)t);
    for (long t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
}

// `number` phases, `rounds` times over; phase i writes one word of page i.
static void many(void) {
    for (long round = 0; round < rounds; ++round)
        for (long i = 0; i < number; ++i) {
            char name[32];
            snprintf(name, sizeof name, "phase %ld", i);
            numascape_phase(name);
            write_strided(&data[i % PAGES * 512], 1, 8);
        }
}

// Three times, a block is written in one phase, read in another one, and freed.
static void reuse(void) {
    static const char* const names[] = {"first", "second", "third"};
    for (int i = 0; i < 3; ++i) {
        numascape_phase("write");
        char* block = (char*)malloc(64 * PAGE);
        write_strided(block, 64 * 512, 8);
        numascape_phase(names[i]);
        for (int k = 0; k <= i; ++k) read_strided(block, 64 * 512, 8);
        free(block);
    }
}

static void in_child(void) {
    const pid_t child = fork();
    if (child == 0) {
        write_strided(other, 512, 8);
#pragma omp parallel num_threads(1)  // region: in the child
        add_strided(&other[512], 512, 8);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

// The child is in the phase in which it was forked.
static void forking(void) {
#pragma omp parallel num_threads(2)  // region: forking
    {
        write_strided(part(omp_get_thread_num()), PART, 8);
#pragma omp barrier
        if (omp_get_thread_num() == 0) in_child();
    }
    read_strided(data, PART, 8);
}

static void killed(void) {
#pragma omp parallel num_threads(THREADS)  // region: killed
    {
        write_strided(part(omp_get_thread_num()), PART, 8);
#pragma omp barrier
        if (omp_get_thread_num() == 0) kill(getpid(), SIGKILL);
#pragma omp barrier
    }
}

static void plugin(const char* program) {
    char path[4096];
    snprintf(path, sizeof path, "%.*slibphases.so", (int)(strrchr(program, '/') + 1 - program),
             program);
    void* library = dlopen(path, RTLD_NOW);
    void (*work)(long*, long) = library ? (void (*)(long*, long))dlsym(library, "work") : NULL;
    if (work == NULL) exit(1);
    work(data, PART);
}

// Passes over data for `number` milliseconds; prints how many.
static void timed(void) {
    struct timespec start, now;
    long passes = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        write_strided(data, THREADS * PART, 8);
        ++passes;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < number);
    printf("%ld\n", passes);
}

static volatile sig_atomic_t stopped;

static void stop(int signal_number) {
    (void)signal_number;
    stopped = 1;
}

// Until SIGUSR1, regions of `number` passes each.
static void endless(void) {
    signal(SIGUSR1, stop);
    puts("ready");
    fflush(stdout);
    while (!stopped) {
#pragma omp parallel num_threads(2)  // region: endless
        for (long i = 0; i < number && !stopped; ++i)
            write_strided(part(omp_get_thread_num()), PART, 8);
    }
    puts("stopped");
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    number = argc > 2 ? atol(argv[2]) : 1;
    rounds = argc > 3 ? atol(argv[3]) : 3;
    omp_set_dynamic(0);
    if (strcmp(mode, "regions") == 0) regions();
    if (strcmp(mode, "nested") == 0) nested();
    if (strcmp(mode, "loop") == 0) loop();
    if (strcmp(mode, "marks") == 0) marks();
    if (strcmp(mode, "marked region") == 0) marked_region();
    if (strcmp(mode, "marking threads") == 0) marking_threads();
    if (strcmp(mode, "many") == 0) many();
    if (strcmp(mode, "reuse") == 0) reuse();
    if (strcmp(mode, "forking") == 0) forking();
    if (strcmp(mode, "killed") == 0) killed();
    if (strcmp(mode, "plugin") == 0) plugin(argv[0]);
    if (strcmp(mode, "timed") == 0) timed();
    if (strcmp(mode, "endless") == 0) endless();
    return 0;
}
