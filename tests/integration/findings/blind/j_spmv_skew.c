// SPDX-License-Identifier: Apache-2.0
// label: val = serial first touch
// Why: The master assembles the whole matrix, then every product reads the rows in static parts,
// and most of the nonzeros are those of the last thread, which did not touch any of them first.
// action: val = local | spread
// harm: val = copy
// label: col = serial first touch
// Why: As val.
// action: col = local | spread
// harm: col = copy
// label: run = load imbalance
// Why: Rows are in the order of their lengths, so equal numbers of rows give the last thread more
// than half of the nonzeros.
// action: run = balance
// harm: x = copy
// label: start = serial first touch
// Links between pages of a site, the pages with the most links last: power iteration on a CSR
// matrix.
//   usage: spmv_skew [threads] [rows] [iterations]
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct csr {
    int rows;
    long* start;
    int* col;
    double* val;
};

static void* need(size_t bytes) {
    void* p = malloc(bytes);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

static uint32_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x7FB5D329728EA185ull;
    x ^= x >> 27;
    x *= 0x81DADEF4BC2DD44Dull;
    return (uint32_t)(x >> 32);
}

static int degree(int row, int rows) {
    return (int)(5.0 * pow((double)rows / (rows - row), 0.6));
}

static struct csr assemble(int rows) {
    struct csr m;
    m.rows = rows;
    m.start = need(sizeof(long) * (rows + 1));
    m.start[0] = 0;
    for (int r = 0; r < rows; r++) m.start[r + 1] = m.start[r] + degree(r, rows);
    m.col = need(sizeof(int) * m.start[rows]);
    m.val = need(sizeof(double) * m.start[rows]);
    for (int r = 0; r < rows; r++) {
        long length = m.start[r + 1] - m.start[r];
        for (long k = m.start[r]; k < m.start[r + 1]; k++) {
            m.col[k] = (int)(mix(k * 2654435761ull + r) % (uint32_t)rows);
            m.val[k] = (0.5 + (mix(k) & 1023) / 1024.0) / length;
        }
    }
    return m;
}

static void multiply(const struct csr* m, const double* x, double* y) {
#pragma omp parallel for schedule(static)
    for (int r = 0; r < m->rows; r++) {
        double sum = 0;
        for (long k = m->start[r]; k < m->start[r + 1]; k++) sum += m->val[k] * x[m->col[k]];
        y[r] = sum;
    }
}

static double norm(const double* y, int n) {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += y[i] * y[i];
    return sqrt(sum);
}

static void scale(double* y, int n, double by) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++) y[i] *= by;
}

int main(int argc, char** argv) {
    omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 4);
    int rows = argc > 2 ? atoi(argv[2]) : 200000;
    int iterations = argc > 3 ? atoi(argv[3]) : 25;
    struct csr m = assemble(rows);
    double *x = need(sizeof(double) * rows), *y = need(sizeof(double) * rows);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < rows; i++) {
        x[i] = 1.0 / sqrt(rows);
        y[i] = 0;
    }
    double length = 0;
    for (int i = 0; i < iterations; i++) {
        multiply(&m, x, y);
        length = norm(y, rows);
        scale(y, rows, 1.0 / length);
        double* t = x;
        x = y;
        y = t;
    }
    printf("nonzeros %ld eigenvalue %.9f\n", m.start[rows], length);
    free(m.start);
    free(m.col);
    free(m.val);
    free(x);
    free(y);
    return 0;
}
