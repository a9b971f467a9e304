// SPDX-License-Identifier: Apache-2.0
// Chunks of two pages go to another thread in each repetition, as with a dynamic schedule.
// label: A = pages change users
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

enum { CHUNK = 1024 };

int main(void) {
    double* A = malloc(N * sizeof *A);
    for (unsigned sweep = 0; sweep < 10; sweep++) {
#pragma omp parallel
        for (unsigned chunk = 0; chunk < N / CHUNK; chunk++) {
            if (drawn_thread(chunk, sweep, THREADS) != omp_get_thread_num()) continue;
            for (unsigned i = chunk * CHUNK; i < (chunk + 1) * CHUNK; i++)
                A[i] = sweep == 0 ? i : 0.5 * A[i] + 1.0;
        }
    }
    printf("%g\n", A[N / 3]);
    free(A);
}
