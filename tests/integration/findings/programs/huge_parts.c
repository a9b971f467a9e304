// SPDX-License-Identifier: Apache-2.0
// Parts smaller than 2 MiB: pages of 4 KiB have one user, huge pages would have two.
// label: A = partitioned
// label: A = false sharing of 2 MiB pages
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

// Eight parts of 1.25 MiB each.
enum { PART = 5 * (1 << 17) / 4, MANY = 8 };

int main(void) {
    double* A = malloc(MANY * PART * sizeof *A);
    for (int sweep = 0; sweep < 3; sweep++) {
#pragma omp parallel for schedule(static) num_threads(MANY)
        for (int i = 0; i < MANY * PART; i++) A[i] = sweep == 0 ? i : 0.5 * A[i] + 1.0;
    }
    printf("%g\n", A[MANY * PART / 3]);
    free(A);
}
