// SPDX-License-Identifier: Apache-2.0
// Multiplies a sparse matrix, whose rows are sorted by their length, with a vector. Each thread has
// a quarter of the rows and has filled them itself, but the first quarter has over half of the
// entries: the other threads wait for the first. The vector of 64 KiB stays in the caches.
// label: run = load imbalance
// action: run = balance | even parts
// label: matrix.values = partitioned
// action: matrix.values = none
// label: matrix.columns = partitioned
// action: matrix.columns = none
// label: x = cache-resident
// action: x = none
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1 << 14, COLUMNS = 1 << 13, PASSES = 40 };

struct matrix {
    int* starts;
    int* columns;
    double* values;
};

static double x[COLUMNS];
static double y[ROWS];

static int length_of(int row) {
    return 12 + 20000 / (row / 8 + 20);
}

static int build(struct matrix* matrix) {
    matrix->starts = malloc(sizeof(int) * (ROWS + 1));
    if (!matrix->starts) return 0;
    matrix->starts[0] = 0;
    for (int row = 0; row < ROWS; row++) {
        matrix->starts[row + 1] = matrix->starts[row] + length_of(row);
    }
    matrix->columns = malloc(sizeof(int) * matrix->starts[ROWS]);
    matrix->values = malloc(sizeof(double) * matrix->starts[ROWS]);
    if (!matrix->columns || !matrix->values) return 0;
#pragma omp parallel for schedule(static)
    for (int row = 0; row < ROWS; row++) {
        uint32_t state = (uint32_t)row;
        for (int k = matrix->starts[row]; k < matrix->starts[row + 1]; k++) {
            state = state * 1664525U + 1013904223U;
            matrix->columns[k] = (int)(state >> 19);
            matrix->values[k] = (double)(state >> 28);
        }
    }
    return 1;
}

static void multiply(const struct matrix* matrix) {
#pragma omp parallel for schedule(static)
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        for (int k = matrix->starts[row]; k < matrix->starts[row + 1]; k++) {
            sum += matrix->values[k] * x[matrix->columns[k]];
        }
        y[row] += sum;
    }
}

int main(void) {
    struct matrix matrix;
    if (!build(&matrix)) return 1;
    for (int i = 0; i < COLUMNS; i++) x[i] = i % 5;
    for (int pass = 0; pass < PASSES; pass++) multiply(&matrix);
    double sum = 0;
    for (int row = 0; row < ROWS; row++) sum += y[row];
    printf("%d entries, sum %.0f\n", matrix.starts[ROWS], sum);
    free(matrix.starts);
    free(matrix.columns);
    free(matrix.values);
    return 0;
}
