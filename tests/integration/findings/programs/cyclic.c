// SPDX-License-Identifier: Apache-2.0
// Threads take iterations in turn, so all threads use every page.
// label: A = page-level false sharing
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

int main(void) {
    double* A = malloc(N * sizeof *A);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < N; i++) A[i] = sweep == 0 ? i : 0.5 * A[i] + 1.0;
    }
    printf("%g\n", A[N / 3]);
    free(A);
}
