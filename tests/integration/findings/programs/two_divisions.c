// SPDX-License-Identifier: Apache-2.0
// Two loops in turn, and the second goes from the other end: each page has two owners.
// label: A = pages change users
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

static void forwards(double* A) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) A[i] = 0.5 * A[i] + 1.0;
}

static void backwards(double* A) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) A[N - 1 - i] = 0.25 * A[N - 1 - i] + 2.0;
}

int main(void) {
    double* A = calloc(N, sizeof *A);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        forwards(A);
        backwards(A);
    }
    printf("%g\n", A[N / 3]);
    free(A);
}
