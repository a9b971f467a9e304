// SPDX-License-Identifier: Apache-2.0
// Each half of the array is shared by one team of threads.
// label: A = shared by groups
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

// Two teams of four threads: a team shares its half.
enum { TEAMS = 2, MEMBERS = 4 };

int main(void) {
    double* A = malloc(N * sizeof *A);
    for (int i = 0; i < N; i++) A[i] = i;
#pragma omp parallel num_threads(TEAMS* MEMBERS)
    {
        const int thread = omp_get_thread_num(), team = thread / MEMBERS;
        const int half = N / TEAMS;
        for (int sweep = 0; sweep < 2 * SWEEPS; sweep++)
            for (int i = thread % MEMBERS; i < half; i += MEMBERS)
                A[team * half + i] = 0.5 * A[team * half + i] + 1.0;
    }
    printf("%g\n", A[N / 3]);
    free(A);
}
