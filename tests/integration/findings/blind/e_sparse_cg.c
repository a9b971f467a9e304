// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients on a heat conduction problem, 5 entries per row in CSR format. The matrix is
// assembled entry by entry, by one thread, into arrays that grow with realloc. The product divides
// the rows among the threads, and so do all loops over vectors, also those that initialise them:
// the vectors are right. Neighbours of a grid point are at most 512 rows away, nearly always in the
// part of the same thread. The three arrays of the matrix are all on the node of the main thread.
// label: values = serial first touch
// action: values = local
// label: columns = serial first touch
// action: columns = local
// label: row_start = serial first touch
// action: row_start = local
// label: direction = partitioned
// label: product = partitioned
// label: residual = partitioned
// label: solution = partitioned
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 512, ROWS = SIDE * SIDE, ITERATIONS = 30 };

struct matrix {
    size_t entries, capacity;
    size_t* row_start;
    int* columns;
    double* values;
};

static void append(struct matrix* matrix, int column, double value) {
    if (matrix->entries == matrix->capacity) {
        matrix->capacity = matrix->capacity ? 2 * matrix->capacity : 4096;
        int* columns = realloc(matrix->columns, matrix->capacity * sizeof(int));
        double* values = realloc(matrix->values, matrix->capacity * sizeof(double));
        if (!columns || !values) exit(1);
        matrix->columns = columns;
        matrix->values = values;
    }
    matrix->columns[matrix->entries] = column;
    matrix->values[matrix->entries++] = value;
}

static void assemble(struct matrix* matrix) {
    matrix->row_start = malloc((ROWS + 1) * sizeof(size_t));
    if (!matrix->row_start) exit(1);
    for (int row = 0; row < ROWS; row++) {
        int x = row % SIDE, y = row / SIDE;
        matrix->row_start[row] = matrix->entries;
        if (y > 0) append(matrix, row - SIDE, -1);
        if (x > 0) append(matrix, row - 1, -1);
        append(matrix, row, 4.01 + 0.001 * (row % 7));
        if (x < SIDE - 1) append(matrix, row + 1, -1);
        if (y < SIDE - 1) append(matrix, row + SIDE, -1);
    }
    matrix->row_start[ROWS] = matrix->entries;
}

static void multiply(const struct matrix* matrix, const double* vector, double* product) {
    const size_t* row_start = matrix->row_start;
    const int* columns = matrix->columns;
    const double* values = matrix->values;
#pragma omp parallel for schedule(static)
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        for (size_t e = row_start[row]; e < row_start[row + 1]; e++) {
            sum += values[e] * vector[columns[e]];
        }
        product[row] = sum;
    }
}

static double dot(const double* a, const double* b) {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int row = 0; row < ROWS; row++) sum += a[row] * b[row];
    return sum;
}

int main(void) {
    struct matrix matrix = {0};
    assemble(&matrix);
    double* solution = malloc(ROWS * sizeof(double));
    double* residual = malloc(ROWS * sizeof(double));
    double* direction = malloc(ROWS * sizeof(double));
    double* product = malloc(ROWS * sizeof(double));
    if (!solution || !residual || !direction || !product) return 1;
#pragma omp parallel for schedule(static)
    for (int row = 0; row < ROWS; row++) {
        solution[row] = 0;
        residual[row] = direction[row] = 1.0 + (row % 13) * 0.125;
        product[row] = 0;
    }
    double before = dot(residual, residual);
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        multiply(&matrix, direction, product);
        double step = before / dot(direction, product);
#pragma omp parallel for schedule(static)
        for (int row = 0; row < ROWS; row++) {
            solution[row] += step * direction[row];
            residual[row] -= step * product[row];
        }
        double after = dot(residual, residual);
#pragma omp parallel for schedule(static)
        for (int row = 0; row < ROWS; row++) {
            direction[row] = residual[row] + after / before * direction[row];
        }
        before = after;
    }
    printf("residual %.6e, solution %.1f\n", before, dot(solution, solution));
    free(product);
    free(direction);
    free(residual);
    free(solution);
    free(matrix.values);
    free(matrix.columns);
    free(matrix.row_start);
    return 0;
}
