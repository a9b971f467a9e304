// SPDX-License-Identifier: Apache-2.0
// Balances a matrix (Sinkhorn): divides each row by its sum, then each column by its sum, again and
// again. The rows are divided among the threads in the first loop and when the matrix is filled,
// the column strips in the second: a page belongs to the thread of its row, then to that of its
// strip. The column sums are 32 KiB, of which each thread uses its own part.
// label: matrix = pages change users
// action: matrix = divide
// label: column_sum = cache-resident
// action: column_sum = none
#include <stdio.h>
#include <stdlib.h>

// A strip is one page of a row.
enum { ROWS = 256, COLUMNS = 4096, STRIP = 512, ROUNDS = 20 };

static double* matrix;
static double column_sum[COLUMNS];

static void balance_rows(void) {
#pragma omp parallel for schedule(static)
    for (int r = 0; r < ROWS; r++) {
        double* row = matrix + (size_t)r * COLUMNS;
        double sum = 0;
        for (int c = 0; c < COLUMNS; c++) sum += row[c];
        double factor = COLUMNS / sum;
        for (int c = 0; c < COLUMNS; c++) row[c] *= factor;
    }
}

static void balance_columns(void) {
#pragma omp parallel for schedule(static)
    for (int strip = 0; strip < COLUMNS / STRIP; strip++) {
        double* sum = column_sum + strip * STRIP;
        double* part = matrix + strip * STRIP;
        for (int c = 0; c < STRIP; c++) sum[c] = 0;
        for (int r = 0; r < ROWS; r++) {
            for (int c = 0; c < STRIP; c++) sum[c] += part[(size_t)r * COLUMNS + c];
        }
        for (int c = 0; c < STRIP; c++) sum[c] = ROWS / sum[c];
        for (int r = 0; r < ROWS; r++) {
            for (int c = 0; c < STRIP; c++) part[(size_t)r * COLUMNS + c] *= sum[c];
        }
    }
}

int main(void) {
    if (posix_memalign((void**)&matrix, 4096, (size_t)ROWS * COLUMNS * sizeof *matrix)) return 1;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++) {
            matrix[(size_t)r * COLUMNS + c] = 1 + (r * 37 + c * 11) % 101;
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        balance_rows();
        balance_columns();
    }
    double trace = 0;
    for (int r = 0; r < ROWS; r++) trace += matrix[(size_t)r * COLUMNS + r];
    printf("trace %.6f\n", trace);
    free(matrix);
    return 0;
}
