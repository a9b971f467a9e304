// SPDX-License-Identifier: Apache-2.0
// The main thread initialises an array; new threads then work on their parts of it.
// label: A = serial first touch
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

static double* A;

static void* work(void* argument) {
    const size_t part = N / THREADS, first = (size_t)argument * part;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t i = first; i < first + part; i++) A[i] = 0.5 * A[i] + 1.0;
    return NULL;
}

int main(void) {
    A = malloc(N * sizeof *A);
    for (int i = 0; i < N; i++) A[i] = i;
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void*)t);
    for (size_t t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("%g\n", A[N / 3]);
    free(A);
}
