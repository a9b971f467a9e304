// SPDX-License-Identifier: Apache-2.0
// Sparse matrix-vector products, y = A x, rows compressed (CSR), columns at random: streams of
// values with irregular reads of x. OpenMP. Usage: spmv [ROWS [PRODUCTS]]
#include <math.h>
#include <stdint.h>

#include "size.h"

enum { NONZEROS_PER_ROW = 16 };

static uint64_t state = 88172645463325252ULL;

static uint64_t next_random(void) {  // xorshift64 (G. Marsaglia, 2003)
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

int main(int argc, char** argv) {
    long rows = size_argument(argc, argv, 1, 200000);
    long products = size_argument(argc, argv, 2, 40);
    long nonzeros = rows * NONZEROS_PER_ROW;
    double* values = malloc((size_t)nonzeros * sizeof *values);
    int* columns = malloc((size_t)nonzeros * sizeof *columns);
    long* row_starts = malloc((size_t)(rows + 1) * sizeof *row_starts);
    double* x = malloc((size_t)rows * sizeof *x);
    double* y = malloc((size_t)rows * sizeof *y);
    if (!values || !columns || !row_starts || !x || !y) return 1;

    for (long i = 0; i < rows; i++) {
        row_starts[i] = i * NONZEROS_PER_ROW;
        x[i] = 1.0;
        for (long k = row_starts[i]; k < row_starts[i] + NONZEROS_PER_ROW; k++) {
            columns[k] = (int)(next_random() % (uint64_t)rows);
            values[k] = (double)(i % 7);
        }
    }
    row_starts[rows] = nonzeros;

    for (long product = 0; product < products; product++) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < rows; i++) {
            double sum = 0.0;
            for (long k = row_starts[i]; k < row_starts[i + 1]; k++)
                sum += values[k] * x[columns[k]];
            y[i] = sum;
        }
    }
    for (long i = 0; i < rows; i++)
        if (y[i] != NONZEROS_PER_ROW * (double)(i % 7)) return 1;
    printf("spmv: %ld rows, %ld products, correct\n", rows, products);
    return 0;
}
