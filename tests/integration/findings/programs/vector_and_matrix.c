// SPDX-License-Identifier: Apache-2.0
// Two causes: the matrix is initialised serially, and all threads read the whole vector.
// label: M = serial first touch
// label: x = shared, read-mostly
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

enum { ROWS = 64, COLUMNS = 1 << 15 };

int main(void) {
    double* M = malloc(sizeof(double[ROWS][COLUMNS]));
    double* x = malloc(COLUMNS * sizeof *x);
    for (int j = 0; j < COLUMNS; j++) x[j] = j;
    for (int i = 0; i < ROWS * COLUMNS; i++) M[i] = i;
    double total = 0.0;
    for (int sweep = 0; sweep < 2; sweep++) {
#pragma omp parallel for schedule(static) reduction(+ : total)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) total += M[(size_t)i * COLUMNS + j] * x[j];
    }
    printf("%g\n", total);
    free(M);
    free(x);
}
