// SPDX-License-Identifier: Apache-2.0
// Keys as in a bucket sort: the sum of random numbers, so the middle pages are used most.
// label: keys = shared, written
// label: keys = hot pages
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

int main(void) {
    int* keys = malloc(4 * N * sizeof *keys);
    for (int i = 0; i < 4 * N; i++) keys[i] = 0;
#pragma omp parallel
    {
        unsigned state = 1 + (unsigned)omp_get_thread_num();
#pragma omp for schedule(static)
        for (int i = 0; i < 16 * N; i++) {
            unsigned where = 0;
            for (int draw = 0; draw < 4; draw++) where += next_random(&state) % N;
#pragma omp atomic
            keys[where]++;
        }
    }
    printf("%d\n", keys[2 * N]);
    free(keys);
}
