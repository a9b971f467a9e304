// SPDX-License-Identifier: Apache-2.0
// One thread fills the array with running sums. Each needs the one before, so this loop cannot run
// in parallel; several threads then use their own parts.
// label: A = serial first touch
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

int main(void) {
    double* A = malloc(N * sizeof *A);
    A[0] = 1.0;
    for (int i = 1; i < N; i++) A[i] = A[i - 1] + 0.5 * i;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) A[i] = 0.5 * A[i] + 1.0;
    }
    printf("%g\n", A[N / 3]);
    free(A);
}
