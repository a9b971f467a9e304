// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: Every thread allocates (page aligned) and fills exactly the rows it updates afterwards,
// cyclically, so placement and division agree and the work is balanced.
// action: run = none
// Labels of what needs no action, added after the first look:
// label: a = partitioned
// Why: A thread allocates, fills and updates its own rows; only the pivot row is read by all.
// action: a = none
// harm: a = spread
// harm: a = divide
/* Dense LU factorisation without pivoting of a diagonally dominant matrix,
 * rows dealt out cyclically.  Every thread allocates and fills the rows it
 * will later update.
 *   usage: lu_cyclic [n] [threads]                                          */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096

struct options {
    int n;
    int nthreads;
    int verbose;
};

static struct options parse(int argc, char** argv) {
    struct options o = {768, 4, 0};
    for (int i = 1, pos = 0; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0) {
            o.verbose = 1;
            continue;
        }
        if (pos == 0) o.n = atoi(argv[i]);
        if (pos == 1) o.nthreads = atoi(argv[i]);
        pos++;
    }
    if (o.n < 2) o.n = 2;
    if (o.nthreads < 1) o.nthreads = 1;
    return o;
}

static double entry(int i, int j, int n) {
    unsigned h = (unsigned)i * 2654435761u ^ (unsigned)j * 40503u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    double v = (h & 0xffff) / 65536.0 - 0.5;
    return i == j ? v + 0.5 * n : v;
}

static double* new_row(int n) {
    size_t bytes = ((size_t)n * sizeof(double) + PAGE - 1) / PAGE * PAGE;
    double* r = aligned_alloc(PAGE, bytes);
    if (!r) {
        perror("aligned_alloc");
        exit(1);
    }
    return r;
}

static void update_row(double* restrict row, const double* restrict piv, int k, int n) {
    double f = row[k] / piv[k];
    row[k] = f;
    for (int j = k + 1; j < n; j++) row[j] -= f * piv[j];
}

int main(int argc, char** argv) {
    struct options opt = parse(argc, argv);
    const int n = opt.n, nt = opt.nthreads;
    double** a = malloc((size_t)n * sizeof *a);
    double* diag = malloc((size_t)n * sizeof *diag); /* for the determinant */
    double* thread_time = calloc((size_t)nt, sizeof *thread_time);
    if (!a || !diag || !thread_time) return 1;

    omp_set_dynamic(0);
#pragma omp parallel num_threads(nt)
    {
        const int me = omp_get_thread_num();
        /* my rows: me, me+nt, me+2nt, ... */
        for (int i = me; i < n; i += nt) {
            a[i] = new_row(n);
            for (int j = 0; j < n; j++) a[i][j] = entry(i, j, n);
        }
#pragma omp barrier
        double t0 = omp_get_wtime();
        for (int k = 0; k < n - 1; k++) {
            int first = k + 1 + ((me - (k + 1)) % nt + nt) % nt;
            for (int i = first; i < n; i += nt) update_row(a[i], a[k], k, n);
#pragma omp barrier
        }
        thread_time[me] = omp_get_wtime() - t0;
    }

    double logdet = 0.0;
    for (int i = 0; i < n; i++) {
        diag[i] = a[i][i];
        logdet += log(fabs(diag[i]));
    }
    if (opt.verbose)
        for (int t = 0; t < nt; t++) printf("thread %d: %.3f s\n", t, thread_time[t]);
    printf("n=%d logdet=%.10f u(n,n)=%.10f\n", n, logdet, diag[n - 1]);

    for (int i = 0; i < n; i++) free(a[i]);
    free(a);
    free(diag);
    free(thread_time);
    return 0;
}
