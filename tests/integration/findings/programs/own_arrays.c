// SPDX-License-Identifier: Apache-2.0
// A trap: one line allocates an array for each thread, which uses it alone.
// label: mine = partitioned
// label: run = no NUMA problem
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

static pthread_barrier_t together;

static void* work(void* argument) {
    double* mine = malloc(N * sizeof *mine);
    for (int i = 0; i < N; i++) mine[i] = i;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int i = 0; i < N; i++) mine[i] = 0.5 * mine[i] + 1.0;
    *(double*)argument = mine[N / 3];
    // Only now: memory that is freed earlier would be the next thread's.
    pthread_barrier_wait(&together);
    free(mine);
    return NULL;
}

int main(void) {
    pthread_barrier_init(&together, NULL, THREADS);
    pthread_t threads[THREADS];
    double results[THREADS];
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, &results[t]);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("%g\n", results[THREADS - 1]);
}
