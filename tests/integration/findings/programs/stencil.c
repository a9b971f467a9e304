// SPDX-License-Identifier: Apache-2.0
// A trap: neighbours share the rows at their borders, and no more.
// label: old = partitioned
// label: new = partitioned
// label: run = no NUMA problem
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

enum { WIDTH = 256, HEIGHT = 512 };

int main(void) {
    double* old = malloc(sizeof(double[HEIGHT][WIDTH]));
    double* new = malloc(sizeof(double[HEIGHT][WIDTH]));
#pragma omp parallel for schedule(static)
    for (int i = 0; i < WIDTH * HEIGHT; i++) old[i] = new[i] = i;
    for (int step = 0; step < SWEEPS; step++) {
#pragma omp parallel for schedule(static)
        for (int y = 1; y < HEIGHT - 1; y++)
            for (int x = 1; x < WIDTH - 1; x++) {
                const int at = y * WIDTH + x;
                new[at] = 0.25 * (old[at - 1] + old[at + 1] + old[at - WIDTH] + old[at + WIDTH]);
            }
#pragma omp parallel for schedule(static)
        for (int i = 0; i < WIDTH * HEIGHT; i++) old[i] = new[i];
    }
    printf("%g\n", old[WIDTH * HEIGHT / 3]);
    free(old);
    free(new);
}
