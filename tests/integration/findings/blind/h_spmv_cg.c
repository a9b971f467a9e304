// SPDX-License-Identifier: Apache-2.0
// label: val = serial first touch
// Why: The matrix is assembled by the master alone and then read by all threads in static row
// blocks, 60 times; 10 MB, the bulk of the traffic.
// action: val = local
// harm: val = parallelise the existing loop
// label: col = serial first touch
// Why: Same as val: assembled serially, then read in parts by the owner threads in every product.
// action: col = local
// harm: col = parallelise the existing loop
// label: rowptr = serial first touch
// Why: Same, but only 1 MB.
// action: rowptr = local
// harm: rowptr = parallelise the existing loop
// label: p = serial first touch
// Why: Filled by a serial loop, then updated and read in static parts (banded matrix: nearly only
// own rows and one grid line of the neighbours).
// action: p = local
// harm: p = copy
// label: r = serial first touch
// Why: Filled by a serial loop, then updated in static parts every iteration.
// action: r = local
// Labels of what needs no action, added after the first look:
// label: x = partitioned
// Why: First written in the parallel update, by its later user.
// action: x = none
// harm: x = spread
// label: q = partitioned
// Why: First written in the parallel product, by its later user.
// action: q = none
// harm: q = spread
/* Conjugate gradients on the 5-point Laplacian of a square grid, CSR format.
 *   usage: cg [grid side] [max iterations] [threads]                         */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int n, nnz;
    int* rowptr;
    int* col;
    double* val;
} csr_t;

static void* need(void* p) {
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(EXIT_FAILURE);
    }
    return p;
}

static void put(csr_t* m, int c, double v) {
    m->col[m->nnz] = c;
    m->val[m->nnz] = v;
    m->nnz++;
}

/* assemble the matrix row by row, the position of a row depends on all rows
 * before it */
static csr_t assemble(int side) {
    csr_t m = {.n = side * side};
    m.rowptr = need(malloc(((size_t)m.n + 1) * sizeof(int)));
    m.col = need(malloc((size_t)m.n * 5 * sizeof(int)));
    m.val = need(malloc((size_t)m.n * 5 * sizeof(double)));
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            int i = y * side + x;
            m.rowptr[i] = m.nnz;
            if (y > 0) put(&m, i - side, -1.0);
            if (x > 0) put(&m, i - 1, -1.0);
            put(&m, i, 4.0 + 0.01 * ((x ^ y) & 7));
            if (x < side - 1) put(&m, i + 1, -1.0);
            if (y < side - 1) put(&m, i + side, -1.0);
        }
    m.rowptr[m.n] = m.nnz;
    return m;
}

static void spmv(const csr_t* m, const double* x, double* y) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < m->n; i++) {
        double s = 0;
        for (int k = m->rowptr[i]; k < m->rowptr[i + 1]; k++) s += m->val[k] * x[m->col[k]];
        y[i] = s;
    }
}

static double dot(int n, const double* a, const double* b) {
    double s = 0;
#pragma omp parallel for schedule(static) reduction(+ : s)
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

int main(int argc, char** argv) {
    int side = argc > 1 ? atoi(argv[1]) : 512;
    int iters = argc > 2 ? atoi(argv[2]) : 60;
    omp_set_num_threads(argc > 3 ? atoi(argv[3]) : 4);

    csr_t A = assemble(side);
    int n = A.n;
    double *b = need(malloc(n * sizeof *b)), *x = need(calloc(n, sizeof *x));
    double *r = need(malloc(n * sizeof *r)), *p = need(malloc(n * sizeof *p));
    double* q = need(malloc(n * sizeof *q));

    for (int i = 0; i < n; i++) {
        b[i] = sin(0.001 * i) + ((i * 17) % 13) * 0.1;
        r[i] = b[i];
        p[i] = r[i];
    }

    double rho = dot(n, r, r), rho0 = rho;
    int it;
    for (it = 0; it < iters && rho > 1e-20 * rho0; it++) {
        spmv(&A, p, q);
        double alpha = rho / dot(n, p, q);
#pragma omp parallel for schedule(static)
        for (int i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        double rho1 = dot(n, r, r), beta = rho1 / rho;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < n; i++) p[i] = r[i] + beta * p[i];
        rho = rho1;
    }

    double check = 0;
    for (int i = 0; i < n; i += 97) check += x[i];
    printf("n=%d nnz=%d iterations=%d residual=%.6e checksum=%.8f\n", n, A.nnz, it,
           sqrt(rho / rho0), check);
    free(A.rowptr);
    free(A.col);
    free(A.val);
    free(b);
    free(x);
    free(r);
    free(p);
    free(q);
    return 0;
}
