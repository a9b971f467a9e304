// SPDX-License-Identifier: Apache-2.0
// A conjugate gradient solver. The main thread assembles the sparse matrix in compressed rows; the
// vectors are touched first by the threads that use them.
// label: a.val = serial first touch
// action: a.val = local | spread
// harm: a.val = copy
// label: a.col = serial first touch
// action: a.col = local | spread
// harm: a.col = copy
// label: a.row_ptr = serial first touch
// action: a.row_ptr = local | spread
// harm: a.row_ptr = copy
// label: x = partitioned
// label: r = partitioned
// label: p = partitioned
// label: q = partitioned
// label: zv = partitioned
// label: dinv = partitioned
/* Conjugate gradient with Jacobi preconditioner on a 3-D diffusion operator
 * with a variable coefficient, stored as CSR.
 * usage: l_cg [threads] [grid edge]                                        */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 256
#define ITERATIONS 90

typedef struct {
    int64_t rows;
    int64_t nnz;
    int64_t* row_ptr;
    int32_t* col;
    double* val;
} csr_t;

typedef struct {
    double value;
    char pad[120];
} partial_t;

static partial_t partial[MAX_THREADS] __attribute__((aligned(128)));

static void* xalloc(size_t bytes) {
    void* p = NULL;
    if (posix_memalign(&p, 4096, bytes ? bytes : 1) != 0) {
        fprintf(stderr, "out of memory (%zu bytes)\n", bytes);
        exit(2);
    }
    return p;
}

static double coefficient(int x, int y, int z, int n) {
    double fx = (double)x / n, fy = (double)y / n, fz = (double)z / n;
    return 1.0 + 0.5 * fx * (1.0 - fy) + 0.25 * fz * fz;
}

static int64_t cell(int x, int y, int z, int n) {
    return ((int64_t)z * n + y) * n + x;
}

static csr_t assemble(int n) {
    static const int off[6][3] = {{0, 0, -1}, {0, -1, 0}, {-1, 0, 0},
                                  {1, 0, 0},  {0, 1, 0},  {0, 0, 1}};
    csr_t a;
    a.rows = (int64_t)n * n * n;
    a.row_ptr = xalloc(sizeof(int64_t) * (size_t)(a.rows + 1));
    a.col = xalloc(sizeof(int32_t) * (size_t)(a.rows * 7));
    a.val = xalloc(sizeof(double) * (size_t)(a.rows * 7));
    int64_t k = 0, r = 0;
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++, r++) {
                double c0 = coefficient(x, y, z, n), sum = 0.0;
                int64_t diag = -1;
                a.row_ptr[r] = k;
                for (int d = 0; d < 6; d++) {
                    int xx = x + off[d][0], yy = y + off[d][1], zz = z + off[d][2];
                    if (d == 3) {
                        diag = k;
                        a.col[k++] = (int32_t)r;
                    }
                    if (xx < 0 || yy < 0 || zz < 0 || xx >= n || yy >= n || zz >= n) {
                        sum += c0;
                        continue;
                    }
                    double c1 = coefficient(xx, yy, zz, n);
                    double h = 2.0 * c0 * c1 / (c0 + c1);
                    a.col[k] = (int32_t)cell(xx, yy, zz, n);
                    a.val[k++] = -h;
                    sum += h;
                }
                a.val[diag] = sum + 0.1;
            }
    a.row_ptr[r] = k;
    a.nnz = k;
    return a;
}

static double* vector_new(int64_t n, double value) {
    double* v = xalloc(sizeof(double) * (size_t)n);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) v[i] = value;
    return v;
}

static double dot(const double* a, const double* b, int64_t n) {
    int used = 1;
#pragma omp parallel
    {
        double s = 0.0;
#pragma omp single
        used = omp_get_num_threads();
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
        partial[omp_get_thread_num()].value = s;
    }
    double s = 0.0;
    for (int t = 0; t < used; t++) s += partial[t].value;
    return s;
}

static void spmv(const csr_t* a, const double* x, double* y) {
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < a->rows; r++) {
        double s = 0.0;
        for (int64_t k = a->row_ptr[r]; k < a->row_ptr[r + 1]; k++) s += a->val[k] * x[a->col[k]];
        y[r] = s;
    }
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    int n = argc > 2 ? atoi(argv[2]) : 104;
    if (threads < 1 || threads > MAX_THREADS || n < 4 || n > 600) {
        fprintf(stderr, "usage: %s [threads] [edge]\n", argv[0]);
        return 1;
    }
    omp_set_num_threads(threads);

    csr_t a = assemble(n);
    int64_t rows = a.rows;
    double* x = vector_new(rows, 0.0);
    double* b = vector_new(rows, 1.0);
    double* r = vector_new(rows, 1.0);
    double* p = vector_new(rows, 0.0);
    double* q = vector_new(rows, 0.0);
    double* zv = vector_new(rows, 0.0);
    double* dinv = vector_new(rows, 1.0);

#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++)
            if (a.col[k] == i) dinv[i] = 1.0 / a.val[k];
        zv[i] = dinv[i] * r[i];
        p[i] = zv[i];
    }

    double rho = dot(r, zv, rows);
    for (int it = 0; it < ITERATIONS; it++) {
        spmv(&a, p, q);
        double alpha = rho / dot(p, q, rows);
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < rows; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            zv[i] = dinv[i] * r[i];
        }
        double rho2 = dot(r, zv, rows);
        double beta = rho2 / rho;
        rho = rho2;
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < rows; i++) p[i] = zv[i] + beta * p[i];
    }

    spmv(&a, x, q);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) q[i] -= b[i];
    double res = sqrt(dot(q, q, rows) / dot(b, b, rows));
    printf("rows %lld nnz %lld residual %s checksum %.6f\n", (long long)rows, (long long)a.nnz,
           res < 1e-3 ? "ok" : "LARGE", dot(x, b, rows));
    free(a.row_ptr);
    free(a.col);
    free(a.val);
    free(x);
    free(b);
    free(r);
    free(p);
    free(q);
    free(zv);
    free(dinv);
    return res < 1e-3 ? 0 : 3;
}
