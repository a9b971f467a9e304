// SPDX-License-Identifier: Apache-2.0
// All threads look up values all over a large table that nobody writes any more.
// label: table = shared, read-mostly
// label: result = partitioned
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

int main(void) {
    double* table = malloc(N * sizeof *table);
    for (int i = 0; i < N; i++) table[i] = i;
    double* result = malloc(N * sizeof *result);
#pragma omp parallel
    {
        unsigned state = 1 + (unsigned)omp_get_thread_num();
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            double total = 0.0;
            for (int draw = 0; draw < 12; draw++) total += table[next_random(&state) % N];
            result[i] = total;
        }
    }
    printf("%g\n", result[N / 3]);
    free(table);
    free(result);
}
