// SPDX-License-Identifier: Apache-2.0
// A trap: initialised by the main thread, and used by it alone.
// label: A = partitioned
// label: run = no NUMA problem
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

int main(void) {
    double* A = malloc(N * sizeof *A);
    for (int i = 0; i < N; i++) A[i] = i;
    // The other threads exist, and have nothing to do with it.
    int started = 0;
#pragma omp parallel reduction(+ : started)
    started++;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int i = 0; i < N; i++) A[i] = 0.5 * A[i] + started;
    printf("%g\n", A[N / 3]);
    free(A);
}
