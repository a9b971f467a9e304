// SPDX-License-Identifier: Apache-2.0
// Rows in the small frames of a recursive function of the main thread, which all threads work on.
// label: Stack#0 = stack shared with other threads
// label: rows = cache-resident
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

enum { ROW = 1024, ROWS = N / ROW };

static void work(double* const* rows) {
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (int row = 0; row < ROWS; row++) {
            for (int i = 0; i < ROW; i++) rows[row][i] = 0.5 * rows[row][i] + 1.0;
        }
    }
    printf("%g\n", rows[ROWS / 3][1]);
}

__attribute__((noinline)) static void add_row(double** rows, int row) {
    double values[ROW];
    for (int i = 0; i < ROW; i++) values[i] = i;
    rows[row] = values;
    if (row + 1 < ROWS) {
        add_row(rows, row + 1);
    } else {
        work(rows);
    }
    rows[row] = NULL;
}

int main(void) {
    double** rows = malloc(ROWS * sizeof *rows);
    add_row(rows, 0);
    free(rows);
}
