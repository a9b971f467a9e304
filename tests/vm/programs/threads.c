// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "guest_program.h"

void fail(const char* what) {
    perror(what);
    exit(1);
}

void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) fail("sched_setaffinity");
}

void write_pages(Words array, int first, int end) {
    for (int i = first * WORDS_PER_PAGE; i < end * WORDS_PER_PAGE; i++) array[i] = 1;
}

void read_pages(Words array, int first, int end) {
    for (int i = first * WORDS_PER_PAGE; i < end * WORDS_PER_PAGE; i++) (void)array[i];
}

static pthread_barrier_t barrier;
static const struct Arrays* arrays;

static void* run_quarter(void* argument) {
    const int thread = (int)(long)argument;
    const int first = thread * QUARTER;
    write_pages(arrays->mapped, first, first + QUARTER);
    write_pages(arrays->allocated, first, first + QUARTER);
    write_pages(arrays->global, first, first + QUARTER);
    pthread_barrier_wait(&barrier);
    const int next = (thread + 1) % NODES * QUARTER;
    read_pages(arrays->mapped, next, next + QUARTER);
    write_pages(arrays->read_before, first, first + QUARTER);
    write_pages(arrays->renewed, first, first + QUARTER);
    write_pages(arrays->shared_read_before, first, first + QUARTER);
    return NULL;
}

// A new thread inherits the CPUs of its creator, so that it never runs elsewhere.
static pthread_t start_on(int cpu, void* (*run)(void*), void* argument) {
    pthread_t thread;
    pin(cpu);
    if (pthread_create(&thread, NULL, run, argument) != 0) fail("pthread_create");
    return thread;
}

void run_quarters(const struct Arrays* given) {
    arrays = given;
    pthread_barrier_init(&barrier, NULL, NODES);
    pthread_t threads[NODES];
    for (long t = 0; t < NODES; t++) threads[t] = start_on((int)t, run_quarter, (void*)t);
    for (int t = 0; t < NODES; t++) pthread_join(threads[t], NULL);
}

static pthread_t wanderer;

// Runs until the calling thread has used this CPU time.
static void run_for(double seconds) {
    struct timespec used;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    } while ((double)used.tv_sec + (double)used.tv_nsec * 1e-9 < seconds);
}

static void* wander(void* unused) {
    pin(2);
    run_for(2.0);
    sleep(6);  // long enough to be sampled there
    pin(3);
    return unused;
}

static void* rest(void* unused) {
    for (;;) pause();
    return unused;
}

void start_rester(void) {
    start_on(0, rest, NULL);
}

void start_wanderer(void) {
    wanderer = start_on(1, wander, NULL);
}

void join_wanderer(void) {
    pthread_join(wanderer, NULL);
}
