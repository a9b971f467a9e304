// SPDX-License-Identifier: Apache-2.0
// A trap: a table of 8 KiB that all threads read all the time, from their caches.
// label: table = cache-resident
// label: A = partitioned
// label: run = no NUMA problem
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

enum { SMALL = 1024 };

int main(void) {
    double* table = malloc(SMALL * sizeof *table);
    for (int i = 0; i < SMALL; i++) table[i] = i;
    double* A = malloc(N * sizeof *A);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) A[i] = (sweep == 0 ? 0.0 : A[i]) + table[i % SMALL];
    }
    printf("%g\n", A[N / 3]);
    free(table);
    free(A);
}
