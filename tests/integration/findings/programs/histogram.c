// SPDX-License-Identifier: Apache-2.0
// All threads count into one large histogram.
// label: histogram = shared, written
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

int main(void) {
    int* histogram = malloc(2 * N * sizeof *histogram);
    for (int i = 0; i < 2 * N; i++) histogram[i] = 0;
#pragma omp parallel
    {
        unsigned state = 1 + (unsigned)omp_get_thread_num();
#pragma omp for schedule(static)
        for (int i = 0; i < 8 * N; i++) {
            unsigned where = next_random(&state) % (2 * N);
#pragma omp atomic
            histogram[where]++;
        }
    }
    printf("%d\n", histogram[N / 3]);
    free(histogram);
}
