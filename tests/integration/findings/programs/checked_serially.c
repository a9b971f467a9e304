// SPDX-License-Identifier: Apache-2.0
// A trap: the main thread goes over everything, too, but only to check it.
// label: A = partitioned
// label: run = no NUMA problem
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

static double sum(const double* values) {
    double total = 0.0;
    for (int i = 0; i < N; i++) total += values[i];
    return total;
}

int main(void) {
    double* A = malloc(N * sizeof *A);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) A[i] = i;
    double total = 0.0;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) A[i] = 0.5 * A[i] + 1.0;
        if (sweep % 3 == 0) total += sum(A);
    }
    printf("%g\n", total);
    free(A);
}
