// SPDX-License-Identifier: Apache-2.0
// A trap: there is one thread only.
// label: A = partitioned
// label: run = no NUMA problem
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

int main(void) {
    double* A = malloc(N * sizeof *A);
    for (int i = 0; i < N; i++) A[i] = i;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int i = 0; i < N; i++) A[i] = 0.5 * A[i] + 1.0;
    printf("%g\n", A[N / 3]);
    free(A);
}
