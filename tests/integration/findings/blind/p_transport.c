// SPDX-License-Identifier: Apache-2.0
// Main fills the tables and the particles. Scores of all threads lie side by side.
// label: flux = false sharing of cache lines | page-level false sharing | shared, written
// called: flux = score
// action: flux = divide | local | pad
// harm: flux = spread
// label: xs = shared, read-mostly | serial first touch | cache-resident
// action: xs = copy | spread
// harm: xs = local
// minor: bank = serial first touch | pages change users | page-level false sharing
// called: bank = p
// action: bank = local | spread | pad
// minor: energy = cache-resident | shared, read-mostly
// action: energy = none | copy
// minor: mat = cache-resident | shared, read-mostly
// action: mat = none
/* Monte Carlo neutron transport in a box of cells, continuous-energy tables. */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define G 40 /* cells per edge */
#define NMAT 12
#define NE 16000
#define NPART 240000

typedef struct {
    double x, y, z, u, v, w, e;
    uint64_t seed;
} particle;

typedef struct {
    double total, absorb, scatter;
} xs_t;

static double* energy; /* NE grid points */
static xs_t* xs;       /* NMAT * NE */
static unsigned char mat[G][G][G];
static particle* bank;
static double* flux; /* one score per cell and thread */
static int nthreads;

static inline double rn(uint64_t* s) {
    *s = *s * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*s >> 11) / 9007199254740992.0;
}

static void isotropic(particle* p) {
    double mu = 2 * rn(&p->seed) - 1, phi = 6.283185307179586 * rn(&p->seed);
    double s = sqrt(1 - mu * mu);
    p->u = s * cos(phi);
    p->v = s * sin(phi);
    p->w = mu;
}

static void load_tables(void) {
    uint64_t s = 42;
    energy = malloc(NE * sizeof *energy);
    xs = malloc((size_t)NMAT * NE * sizeof *xs);
    for (int i = 0; i < NE; i++) energy[i] = 1e-3 * pow(1.2e9, (double)i / (NE - 1));
    for (int m = 0; m < NMAT; m++) {
        for (int i = 0; i < NE; i++) {
            xs_t* x = &xs[(size_t)m * NE + i];
            x->absorb = 0.02 + 0.05 * rn(&s) + 0.5 / sqrt(energy[i] + 1);
            x->scatter = 0.6 + 0.4 * rn(&s) + 0.05 * m;
            x->total = x->absorb + x->scatter;
        }
    }
    for (int i = 0; i < G; i++)
        for (int j = 0; j < G; j++)
            for (int k = 0; k < G; k++) mat[i][j][k] = (unsigned char)(rn(&s) * NMAT);
}

static void sample_source(void) {
    uint64_t s = 7;
    bank = malloc(NPART * sizeof *bank);
    for (int i = 0; i < NPART; i++) {
        particle* p = &bank[i];
        p->seed = s += 0x9E3779B97F4A7C15ull;
        p->x = G * (0.2 + 0.6 * rn(&p->seed));
        p->y = G * (0.2 + 0.6 * rn(&p->seed));
        p->z = G * (0.2 + 0.6 * rn(&p->seed));
        p->e = 1e5 * (0.5 + rn(&p->seed));
        isotropic(p);
    }
}

static const xs_t* lookup(int m, double e) {
    int lo = 0, hi = NE - 1;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (energy[mid] > e)
            hi = mid;
        else
            lo = mid;
    }
    return &xs[(size_t)m * NE + lo];
}

static int history(particle* p, double* score) {
    int n = 0;
    for (;;) {
        int i = (int)p->x, j = (int)p->y, k = (int)p->z;
        const xs_t* x = lookup(mat[i][j][k], p->e);
        double d = -log(1 - rn(&p->seed)) / x->total;
        score[(size_t)((i * G + j) * G + k) * nthreads] += d;
        n++;
        p->x += d * p->u;
        p->y += d * p->v;
        p->z += d * p->w;
        if (p->x < 0 || p->x >= G || p->y < 0 || p->y >= G || p->z < 0 || p->z >= G) return n;
        if (rn(&p->seed) * x->total < x->absorb) return n;
        p->e *= 0.3 + 0.7 * rn(&p->seed);
        if (p->e < 1e-2) return n;
        isotropic(p);
    }
}

int main(int argc, char** argv) {
    nthreads = argc > 1 ? atoi(argv[1]) : 4;
    omp_set_num_threads(nthreads);
    load_tables();
    sample_source();
    flux = calloc((size_t)G * G * G * nthreads, sizeof *flux);
    if (!flux) return 1;

    double t0 = omp_get_wtime();
    long events = 0;
#pragma omp parallel for schedule(dynamic, 32) reduction(+ : events)
    for (int i = 0; i < NPART; i++) events += history(&bank[i], flux + omp_get_thread_num());
    double t1 = omp_get_wtime();

    double sum = 0;
    for (size_t c = 0; c < (size_t)G * G * G; c++)
        for (int t = 0; t < nthreads; t++) sum += flux[c * nthreads + t] * (double)(c % 5 + 1);
    printf("transport: %ld events in %.3f s, checksum %.4f\n", events, t1 - t0, sum);
    free(flux);
    free(bank);
    free(xs);
    free(energy);
    return 0;
}
