// SPDX-License-Identifier: Apache-2.0
// Each thread works on an array that it allocates itself, and waits for the others at a barrier
// that spins. What a waiting thread reads depends on how long it waits, and is no work.
//
// label: own = partitioned
// label: run = no NUMA problem
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

static atomic_int arrived;
static atomic_int sense;
static double totals[THREADS];

static void wait_for_all(int* mine) {
    *mine = !*mine;
    if (atomic_fetch_add(&arrived, 1) == THREADS - 1) {
        arrived = 0;
        sense = *mine;
    }
    while (sense != *mine) {
    }
}

static void* work(void* argument) {
    const long thread = (long)argument;
    double* own = (double*)malloc(N * sizeof(double));
    int mine = 0;
    for (int i = 0; i < N; i++) own[i] = i % 3;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 1; i < N; i++) own[i] = 0.5 * (own[i] + own[i - 1]);
        wait_for_all(&mine);
    }
    totals[thread] = own[N / 3];
    free(own);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void*)t);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("%g\n", totals[0]);
}
