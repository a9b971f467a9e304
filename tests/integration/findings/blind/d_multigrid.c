// SPDX-License-Identifier: Apache-2.0
// Two-grid cycles for a Poisson problem. A row of the fine grid is one page. All loops, those that
// set the grids first as well, divide the rows in the same static way, and coarse row r belongs to
// the fine rows 2r and 2r + 1, so a thread has the same region in all four arrays. Only the rows at
// the borders between threads are read by a neighbour.
// label: run = no NUMA problem
// label: fine = partitioned
// action: fine = none
// label: fine_rhs = partitioned
// action: fine_rhs = none
// label: coarse = partitioned
// action: coarse = none
// label: coarse_rhs = partitioned
// action: coarse_rhs = none
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1024, COLUMNS = 512, CYCLES = 16 };

static double* grid(int rows, int columns) {
    double* cells = aligned_alloc(4096, sizeof(double) * rows * columns);
    if (!cells) exit(1);
    return cells;
}

static void clear(double* cells, int rows, int columns, double value) {
#pragma omp parallel for schedule(static)
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < columns; c++) cells[(size_t)r * columns + c] = value * (1 + c % 7);
    }
}

// Gauss-Seidel in two colours: cells of one colour read only cells of the other.
static void smooth(double* cells, const double* rhs, int rows, int columns) {
    for (int colour = 0; colour < 2; colour++) {
#pragma omp parallel for schedule(static)
        for (int r = 0; r < rows; r++) {
            if (r == 0 || r == rows - 1) continue;
            double* row = cells + (size_t)r * columns;
            for (int c = 1 + ((r + colour) & 1); c < columns - 1; c += 2) {
                row[c] = 0.25 * (row[c - 1] + row[c + 1] + row[c - columns] + row[c + columns] +
                                 rhs[(size_t)r * columns + c]);
            }
        }
    }
}

static void restrict_residual(const double* fine, const double* fine_rhs, double* coarse,
                              double* coarse_rhs) {
    const int half = COLUMNS / 2;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < ROWS / 2; r++) {
        memset(coarse + (size_t)r * half, 0, sizeof(double) * half);
        if (r == 0 || r == ROWS / 2 - 1) continue;
        for (int c = 1; c < half - 1; c++) {
            const size_t at = (size_t)2 * r * COLUMNS + 2 * c;
            double residual = fine_rhs[at] - 4 * fine[at] + fine[at - 1] + fine[at + 1] +
                              fine[at - COLUMNS] + fine[at + COLUMNS];
            coarse_rhs[(size_t)r * half + c] = 4 * residual;
        }
    }
}

static void correct(double* fine, const double* coarse) {
    const int half = COLUMNS / 2;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < ROWS; r++) {
        if (r == 0 || r == ROWS - 1) continue;
        const double* from = coarse + (size_t)(r / 2) * half;
        for (int c = 1; c < COLUMNS - 1; c++) fine[(size_t)r * COLUMNS + c] += 0.5 * from[c / 2];
    }
}

int main(void) {
    double* fine = grid(ROWS, COLUMNS);
    double* fine_rhs = grid(ROWS, COLUMNS);
    double* coarse = grid(ROWS / 2, COLUMNS / 2);
    double* coarse_rhs = grid(ROWS / 2, COLUMNS / 2);
    clear(fine, ROWS, COLUMNS, 0);
    clear(fine_rhs, ROWS, COLUMNS, 1e-3);
    clear(coarse, ROWS / 2, COLUMNS / 2, 0);
    clear(coarse_rhs, ROWS / 2, COLUMNS / 2, 0);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        smooth(fine, fine_rhs, ROWS, COLUMNS);
        restrict_residual(fine, fine_rhs, coarse, coarse_rhs);
        for (int sweep = 0; sweep < 4; sweep++) smooth(coarse, coarse_rhs, ROWS / 2, COLUMNS / 2);
        correct(fine, coarse);
        smooth(fine, fine_rhs, ROWS, COLUMNS);
    }
    printf("centre %.6f\n", fine[(size_t)(ROWS / 2) * COLUMNS + COLUMNS / 2]);
    free(coarse_rhs);
    free(coarse);
    free(fine_rhs);
    free(fine);
    return 0;
}
