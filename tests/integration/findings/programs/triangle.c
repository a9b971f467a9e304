// SPDX-License-Identifier: Apache-2.0
// Rows of a triangle in equal numbers: the last thread has most of the work.
// label: M = partitioned
// label: run = load imbalance
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

enum { ROWS = 512 };

int main(void) {
    double* M = malloc(sizeof(double[ROWS][ROWS]));
#pragma omp parallel for schedule(static)
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) M[i * ROWS + j] = j;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j <= i; j++) M[i * ROWS + j] = 0.5 * M[i * ROWS + j] + 1.0;
    }
    printf("%g\n", M[ROWS + 1]);
    free(M);
}
