// SPDX-License-Identifier: Apache-2.0
// A trap: a table is initialised serially and read by all, but hardly ever.
// label: A = partitioned
// label: run = no NUMA problem
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

enum { FEW = 1 << 13 };

int main(void) {
    double* rarely = malloc(FEW * sizeof *rarely);
    for (int i = 0; i < FEW; i++) rarely[i] = i;
    double* A = malloc(N * sizeof *A);
    for (int sweep = 0; sweep < 3 * SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++)
            A[i] = sweep == 0 ? (i % 8 ? i : rarely[i % FEW]) : 0.5 * A[i] + 1.0;
    }
    printf("%g\n", A[N / 3]);
    free(rarely);
    free(A);
}
