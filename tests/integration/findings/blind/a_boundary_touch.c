// SPDX-License-Identifier: Apache-2.0
// Heat on a plate, Jacobi steps over rows with a static division. calloc leaves the pages of the
// two plates untouched, but main then sets the left and right edge of every row, and a row is one
// page: main touches all pages first. Each page is then used by the thread of its row. The sum at
// the end is a single pass.
// label: plate = serial first touch
// action: plate = local
// label: following = serial first touch
// action: following = local
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1024, COLUMNS = 512, STEPS = 60 };

static void set_edges(double* cells) {
    for (int r = 0; r < ROWS; r++) {
        cells[(size_t)r * COLUMNS] = 100;
        cells[(size_t)r * COLUMNS + COLUMNS - 1] = 20;
    }
}

static void step(const double* from, double* to) {
#pragma omp parallel for schedule(static)
    for (int r = 1; r < ROWS - 1; r++) {
        const double* row = from + (size_t)r * COLUMNS;
        double* out = to + (size_t)r * COLUMNS;
        for (int c = 1; c < COLUMNS - 1; c++) {
            out[c] = 0.25 * (row[c - 1] + row[c + 1] + row[c - COLUMNS] + row[c + COLUMNS]);
        }
    }
}

int main(void) {
    double* plate = calloc((size_t)ROWS * COLUMNS, sizeof *plate);
    double* following = calloc((size_t)ROWS * COLUMNS, sizeof *following);
    set_edges(plate);
    set_edges(following);
    for (int s = 0; s < STEPS; s += 2) {
        step(plate, following);
        step(following, plate);
    }
    double heat = 0;
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) heat += plate[i];
    printf("heat %.6f\n", heat);
    free(following);
    free(plate);
    return 0;
}
