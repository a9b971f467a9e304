// SPDX-License-Identifier: Apache-2.0
// Products of a packed lower triangular matrix and a vector; the rows are divided evenly, so the
// last thread has most of the work. OpenMP; the same division fills the matrix.
// label: packed = partitioned
// Why: each thread fills and uses the same rows.
// action: packed = none
// label: x = cache-resident
// Why: 16 KiB, read for each row.
// action: x = none
// label: run = load imbalance
// Why: the last quarter of the rows has 7/16 of the elements, the first one 1/16.
// action: run = balance | even parts
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 2048, ROUNDS = 8 };

int main(void) {
    size_t elements = (size_t)N * (N + 1) / 2;
    double* packed = malloc(sizeof *packed * elements);
    double* x = malloc(sizeof *x * N);
    double* y = malloc(sizeof *y * N);
    if (!packed || !x || !y) return 1;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
        double* row = packed + (size_t)i * (size_t)(i + 1) / 2;
        for (int j = 0; j <= i; j++) row[j] = 1.0 / (1 + i + j);
        x[i] = 1;
    }
    double norm = 0;
    for (int round = 0; round < ROUNDS; round++) {
        norm = 0;
#pragma omp parallel for schedule(static) reduction(+ : norm)
        for (int i = 0; i < N; i++) {
            const double* row = packed + (size_t)i * (size_t)(i + 1) / 2;
            double sum = 0;
            for (int j = 0; j <= i; j++) sum += row[j] * x[j];
            y[i] = sum;
            norm += sum * sum;
        }
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) x[i] = y[i] / sqrt(norm);
    }
    printf("norm %.9f\n", sqrt(norm));
    free(packed);
    free(x);
    free(y);
    return norm > 0 ? 0 : 1;
}
