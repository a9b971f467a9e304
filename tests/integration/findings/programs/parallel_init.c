// SPDX-License-Identifier: Apache-2.0
// Initialised in parallel, worked on with the same division: nothing to do.
// label: A = partitioned
// label: run = no NUMA problem
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

int main(void) {
    double* A = malloc(N * sizeof *A);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) A[i] = i;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) A[i] = 0.5 * A[i] + 1.0;
    }
    printf("%g\n", A[N / 3]);
    free(A);
}
