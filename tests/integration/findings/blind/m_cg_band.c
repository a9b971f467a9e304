// SPDX-License-Identifier: Apache-2.0
// Everything is touched first in parallel, with the schedule of the work.
// label: run = no NUMA problem
// action: run = none
// label: A.ptr = partitioned
// label: A.col = partitioned
// label: A.val = partitioned
// label: x = partitioned
// label: r = partitioned
// label: p = partitioned
// label: q = partitioned
// harm: A.ptr = spread
// harm: A.col = spread
// harm: A.val = spread
// harm: x = spread
// harm: r = spread
// harm: q = spread
// harm: p = spread | copy
/* Conjugate gradients on an irregular symmetric positive definite matrix in CSR form.
 *   usage: cg_band [rows] [threads]
 */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOFF 6
static const long offs[NOFF] = {1, 7, 64, 300, 811, 2000};

static uint32_t mix(uint32_t a, uint32_t b) {
    uint32_t h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA77u;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    h ^= h >> 12;
    return h;
}

/* coupling between i and j, 0 when there is none; symmetric */
static double coupling(long i, long j) {
    uint32_t lo = (uint32_t)(i < j ? i : j), hi = (uint32_t)(i < j ? j : i);
    uint32_t h = mix(lo, hi);
    if ((h & 3) == 0) return 0.0;
    return -0.25 - (double)(h >> 8) / (double)(1 << 24) * 0.5;
}

typedef struct {
    long n;
    long* ptr;
    int* col;
    double* val;
} csr_t;

static void* xmalloc(size_t b) {
    void* p = malloc(b);
    if (!p) {
        perror("malloc");
        exit(1);
    }
    return p;
}

static void build(csr_t* A, long n) {
    A->n = n;
    A->ptr = xmalloc((n + 1) * sizeof(long));
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        long c = 1;
        for (int k = 0; k < NOFF; k++) {
            if (i - offs[k] >= 0 && coupling(i, i - offs[k]) != 0.0) c++;
            if (i + offs[k] < n && coupling(i, i + offs[k]) != 0.0) c++;
        }
        A->ptr[i] = c;
    }
    long run = 0;
    for (long i = 0; i < n; i++) {
        long c = A->ptr[i];
        A->ptr[i] = run;
        run += c;
    }
    A->ptr[n] = run;

    A->col = xmalloc(run * sizeof(int));
    A->val = xmalloc(run * sizeof(double));
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        long w = A->ptr[i] + 1;
        double diag = 0.1;
        for (int s = -1; s <= 1; s += 2)
            for (int k = 0; k < NOFF; k++) {
                long j = i + s * offs[k];
                if (j < 0 || j >= n) continue;
                double c = coupling(i, j);
                if (c == 0.0) continue;
                A->col[w] = (int)j;
                A->val[w++] = c;
                diag -= c;
            }
        A->col[A->ptr[i]] = (int)i;
        A->val[A->ptr[i]] = diag;
    }
}

static double spmv_dot(const csr_t* A, const double* p, double* q) {
    double s = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : s)
    for (long i = 0; i < A->n; i++) {
        double t = 0.0;
        for (long k = A->ptr[i]; k < A->ptr[i + 1]; k++) t += A->val[k] * p[A->col[k]];
        q[i] = t;
        s += t * p[i];
    }
    return s;
}

int main(int argc, char** argv) {
    long n = argc > 1 ? atol(argv[1]) : 220000;
    int nt = argc > 2 ? atoi(argv[2]) : 4;
    omp_set_num_threads(nt);

    csr_t A;
    build(&A, n);

    double *x = xmalloc(n * sizeof *x), *r = xmalloc(n * sizeof *r);
    double *p = xmalloc(n * sizeof *p), *q = xmalloc(n * sizeof *q);
    double rr = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : rr)
    for (long i = 0; i < n; i++) {
        double b = 1.0 + (double)(mix((uint32_t)i, 77) & 1023) / 1024.0;
        x[i] = 0.0;
        r[i] = b;
        p[i] = b;
        q[i] = 0.0;
        rr += b * b;
    }
    double rr0 = rr;
    int it;
    for (it = 0; it < 30 && rr > 1e-12 * rr0; it++) {
        double alpha = rr / spmv_dot(&A, p, q), rn = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : rn)
        for (long i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            rn += r[i] * r[i];
        }
        double beta = rn / rr;
        rr = rn;
#pragma omp parallel for schedule(static)
        for (long i = 0; i < n; i++) p[i] = r[i] + beta * p[i];
    }
    double cs = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : cs)
    for (long i = 0; i < n; i++) cs += x[i];
    printf("checksum %.6e nnz %ld iterations %d residual %.3e\n", cs, A.ptr[n], it, sqrt(rr / rr0));
    free(A.ptr);
    free(A.col);
    free(A.val);
    free(x);
    free(r);
    free(p);
    free(q);
    return 0;
}
