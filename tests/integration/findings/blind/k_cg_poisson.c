// SPDX-License-Identifier: Apache-2.0
// Conjugate gradient for a Poisson equation on a square grid, with the matrix in compressed rows.
// The main thread assembles the matrix and sets the first residual and direction. Every loop of the
// solver has the same static schedule, so each thread uses only its own rows, and of the direction
// also one grid line beside them. The solution comes from calloc, and the product from malloc: the
// solver touches both first, in parallel.
// label: values = serial first touch
// action: values = local
// harm: values = copy
// label: columns = serial first touch
// action: columns = local
// label: row_start = serial first touch
// action: row_start = local
// label: residual = serial first touch
// action: residual = local
// label: direction = serial first touch
// action: direction = local
// label: solution = partitioned
// action: solution = none
// label: product = partitioned
// action: product = none
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 1000, ROWS = SIDE * SIDE, STEPS = 25 };

static double *values, *residual, *direction, *solution, *product;
static int *columns, *row_start;

static void* allocate(size_t bytes) {
    void* p = malloc(bytes);
    if (!p) exit(1);
    return p;
}

static void entry(int* at, int column, double value) {
    columns[*at] = column;
    values[*at] = value;
    ++*at;
}

static void assemble(void) {
    int at = 0;
    for (int row = 0; row < ROWS; row++) {
        int i = row / SIDE, j = row % SIDE;
        row_start[row] = at;
        if (i > 0) entry(&at, row - SIDE, -1);
        if (j > 0) entry(&at, row - 1, -1);
        entry(&at, row, 4);
        if (j < SIDE - 1) entry(&at, row + 1, -1);
        if (i < SIDE - 1) entry(&at, row + SIDE, -1);
    }
    row_start[ROWS] = at;
}

int main(int argc, char** argv) {
    omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 4);
    values = allocate(sizeof(double) * 5 * ROWS);
    columns = allocate(sizeof(int) * 5 * ROWS);
    row_start = allocate(sizeof(int) * (ROWS + 1));
    residual = allocate(sizeof(double) * ROWS);
    direction = allocate(sizeof(double) * ROWS);
    product = allocate(sizeof(double) * ROWS);
    solution = calloc(ROWS, sizeof(double));
    if (!solution) return 1;
    assemble();
    double rho = 0;
    for (int i = 0; i < ROWS; i++) {
        residual[i] = direction[i] = 1.0 + (double)(i % 17) * 0.125;
        rho += residual[i] * residual[i];
    }
    double first = rho;
    for (int step = 0; step < STEPS; step++) {
        double along = 0, next = 0;
#pragma omp parallel for schedule(static) reduction(+ : along)
        for (int row = 0; row < ROWS; row++) {
            double sum = 0;
            for (int k = row_start[row]; k < row_start[row + 1]; k++)
                sum += values[k] * direction[columns[k]];
            product[row] = sum;
            along += sum * direction[row];
        }
        double alpha = rho / along;
#pragma omp parallel for schedule(static) reduction(+ : next)
        for (int i = 0; i < ROWS; i++) {
            solution[i] += alpha * direction[i];
            residual[i] -= alpha * product[i];
            next += residual[i] * residual[i];
        }
        double beta = next / rho;
        rho = next;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < ROWS; i++) direction[i] = residual[i] + beta * direction[i];
    }
    printf("residual %.6e of %.6e, middle %.6f\n", rho, first, solution[ROWS / 2 + SIDE / 2]);
    free(values), free(columns), free(row_start), free(residual), free(direction), free(product),
        free(solution);
    return 0;
}
