// SPDX-License-Identifier: Apache-2.0
// label: run = load imbalance
// Why: schedule(static) gives equal numbers of rows, but row i has i+1 elements: the last of 4
// threads does 7 times the work of the first; divide by area (both in create() and apply()).
// action: run = balance | even parts
// Labels of what needs no action, added after the first look:
// label: l = partitioned
// Why: Filled and used with the same static division.
// action: l = none
// harm: l = spread | local
// label: z = cache-resident
// Why: 14 KB that all threads read for each row.
// action: z = none
/* Repeated application of a packed lower-triangular factor (as in sampling
 * from a multivariate normal distribution: y = L z for many z).
 *   usage: trimv [n] [samples] [threads]                                     */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static size_t row_start(size_t i) {
    return i * (i + 1) / 2;
}

struct problem {
    int n;
    double* l;                 /* packed rows of L */
    double *z, *y, *mean, *m2; /* vectors of length n */
};

static struct problem create(int n) {
    struct problem p = {.n = n};
    p.l = malloc(row_start((size_t)n) * sizeof *p.l);
    p.z = malloc((size_t)n * sizeof(double));
    p.y = malloc((size_t)n * sizeof(double));
    p.mean = calloc((size_t)n, sizeof(double));
    p.m2 = calloc((size_t)n, sizeof(double));
    if (!p.l || !p.z || !p.y || !p.mean || !p.m2) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    /* each thread fills the rows that it multiplies with later */
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++) {
        double* row = p.l + row_start((size_t)i);
        for (int j = 0; j < i; j++) row[j] = 0.3 * cos(0.01 * (i - j)) / (1.0 + i - j);
        row[i] = 1.0;
    }
    return p;
}

static void fill_normal(double* z, int n, unsigned* seed) {
    unsigned s = *seed;
    for (int i = 0; i < n; i++) {
        double acc = -6.0; /* Irwin-Hall */
        for (int k = 0; k < 12; k++) {
            s = s * 1664525u + 1013904223u;
            acc += (s >> 8) / 16777216.0;
        }
        z[i] = acc;
    }
    *seed = s;
}

static void apply(struct problem* p, int sample) {
    const double* z = p->z;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->n; i++) {
        const double* row = p->l + row_start((size_t)i);
        double s = 0;
        for (int j = 0; j <= i; j++) s += row[j] * z[j];
        p->y[i] = s;
        double d = s - p->mean[i];
        p->mean[i] += d / (sample + 1);
        p->m2[i] += d * (s - p->mean[i]);
    }
}

int main(int argc, char** argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1800;
    int samples = argc > 2 ? atoi(argv[2]) : 80;
    omp_set_num_threads(argc > 3 ? atoi(argv[3]) : 4);

    struct problem p = create(n);
    unsigned seed = 2024;
    for (int s = 0; s < samples; s++) {
        fill_normal(p.z, n, &seed);
        apply(&p, s);
    }

    double check = 0, var = 0;
    for (int i = 0; i < n; i++) {
        check += p.mean[i];
        var += p.m2[i] / (samples - 1);
    }
    printf("n=%d samples=%d mean sum=%.10f mean variance=%.8f\n", n, samples, check, var / n);
    free(p.l);
    free(p.z);
    free(p.y);
    free(p.mean);
    free(p.m2);
    return 0;
}
