// SPDX-License-Identifier: Apache-2.0
// Contiguous parts of three quarters of a page: few pages have a single user.
// label: A[array] = page-level false sharing
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

// Each thread's part is three quarters of a page: most pages hold parts of two threads.
enum { PART = 384, MANY = 64, ARRAYS = 20 };

int main(void) {
    double* A[ARRAYS];
    double total = 0.0;
    for (int array = 0; array < ARRAYS; array++) A[array] = malloc(MANY * PART * sizeof *A[array]);
#pragma omp parallel for schedule(static) num_threads(MANY) reduction(+ : total)
    for (int part = 0; part < MANY; part++)
        for (int array = 0; array < ARRAYS; array++) {
            double* mine = A[array] + (size_t)part * PART;
            for (int sweep = 0; sweep < SWEEPS; sweep++)
                for (int i = 0; i < PART; i++) mine[i] = sweep == 0 ? i : 0.5 * mine[i] + 1.0;
            total += mine[PART / 3];
        }
    printf("%g\n", total);
    for (int array = 0; array < ARRAYS; array++) free(A[array]);
}
