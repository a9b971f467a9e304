// SPDX-License-Identifier: Apache-2.0
// Initialised in blocks, but each step deals the rows out anew: their users rotate.
// label: a = pages change users
// action: a = divide | spread
// harm: a = copy | local
/* Dense LU factorisation without pivoting (diagonally dominant), then one solve.
 *   usage: lu [order] [threads]
 */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int n;
static double* a;

#define ROW(i) (a + (size_t)(i) * n)

static void fill(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++) {
        double *r = ROW(i), s = 0;
        uint32_t h = (uint32_t)i * 2654435761u + 1;
        for (int j = 0; j < n; j++) {
            h ^= h << 13;
            h ^= h >> 17;
            h ^= h << 5;
            r[j] = (double)(h & 0xffff) / 65536.0 - 0.5;
            s += fabs(r[j]);
        }
        r[i] = s + 1.0;
    }
}

static void eliminate(int k, int i) {
    const double* p = ROW(k);
    double* r = ROW(i);
    double l = r[k] / p[k];
    r[k] = l;
#pragma omp simd
    for (int j = k + 1; j < n; j++) r[j] -= l * p[j];
}

static void factor(void) {
    for (int k = 0; k < n - 1; k++) {
/* deal the remaining rows out like cards so that everybody has some */
#pragma omp parallel for schedule(static, 1)
        for (int i = k + 1; i < n; i++) eliminate(k, i);
    }
}

static void solve(const double* b, double* x) {
    for (int i = 0; i < n; i++) {
        double s = b[i];
        for (int j = 0; j < i; j++) s -= ROW(i)[j] * x[j];
        x[i] = s;
    }
    for (int i = n - 1; i >= 0; i--) {
        double s = x[i];
        for (int j = i + 1; j < n; j++) s -= ROW(i)[j] * x[j];
        x[i] = s / ROW(i)[i];
    }
}

int main(int argc, char** argv) {
    n = argc > 1 ? atoi(argv[1]) : 1040;
    int nt = argc > 2 ? atoi(argv[2]) : 4;
    omp_set_num_threads(nt);

    a = malloc((size_t)n * n * sizeof *a);
    double* b = malloc((size_t)n * sizeof *b);
    double* x = malloc((size_t)n * sizeof *x);
    if (!a || !b || !x) {
        perror("malloc");
        return 1;
    }
    fill();

/* right hand side for the solution 1, 2, 3, ... (scaled) */
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < n; j++) s += ROW(i)[j] * (1.0 + (double)j / n);
        b[i] = s;
    }

    double t = omp_get_wtime();
    factor();
    t = omp_get_wtime() - t;
    solve(b, x);

    double err = 0, cs = 0;
    for (int i = 0; i < n; i++) {
        double e = fabs(x[i] - (1.0 + (double)i / n));
        if (e > err) err = e;
        cs += x[i];
    }
    printf("checksum %.9f maxerr %s\n", cs, err < 1e-8 ? "ok" : "LARGE");
    fprintf(stderr, "factor %.3f s\n", t);
    free(a);
    free(b);
    free(x);
    return 0;
}
