// SPDX-License-Identifier: Apache-2.0
// All threads look up cross sections. Each has tallies of its own, and counters in the same lines
// as those of other threads.
// label: xs = shared, read-mostly
// action: xs = copy | spread
// harm: xs = local | divide
// label: tally = partitioned
// action: tally = none
// harm: tally = spread
// label: stats = false sharing of cache lines
// action: stats = pad
// harm: stats = spread | local | copy
// label: flux = partitioned
// action: flux = none
/* Monte Carlo slab transport with per-thread tallies. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NE 131072
#define NBIN 131072
#define HISTORIES 1000000
#define MAXT 64

struct xsec {
    double total, absorb;
};
struct stat {
    atomic_long absorbed, scattered, escaped;
};

static struct xsec* xs;
static double* tally;           /* nthreads slices of NBIN */
static struct stat stats[MAXT]; /* read by the progress line at the end */
static int nthreads = 4;

static inline void bump(atomic_long* c) {
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static inline double uni(uint64_t* s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (double)(*s >> 11) * 0x1p-53;
}

static void* work(void* arg) {
    int tid = (int)(intptr_t)arg;
    double* mine = tally + (size_t)tid * NBIN;
    struct stat* st = &stats[tid];
    long n = (long)HISTORIES * (tid + 1) / nthreads - (long)HISTORIES * tid / nthreads;
    uint64_t s = 0x9E3779B97F4A7C15ULL * (uint64_t)(tid + 1);
    for (long h = 0; h < n; h++) {
        double x = 0, mu = 1, e = uni(&s);
        for (;;) {
            const struct xsec* c = &xs[(int)(e * (NE - 1))];
            x += mu * -log(1 - uni(&s)) / c->total;
            if (x < 0 || x >= 10) {
                bump(&st->escaped);
                break;
            }
            int bin = (int)(x * 12.8) * 1024 + (int)(e * 1023.99);
            mine[bin] += 1 / c->total;
            if (uni(&s) * c->total < c->absorb) {
                bump(&st->absorbed);
                break;
            }
            bump(&st->scattered);
            mu = 2 * uni(&s) - 1;
            e *= 0.2 + 0.8 * uni(&s);
        }
    }
    return NULL;
}

int main(int argc, char** argv) {
    if (argc > 1)
        nthreads = atoi(argv[1]);
    else if (getenv("OMP_NUM_THREADS"))
        nthreads = atoi(getenv("OMP_NUM_THREADS"));
    if (nthreads < 1 || nthreads > MAXT) nthreads = 4;

    xs = malloc(NE * sizeof *xs);
    for (int i = 0; i < NE; i++) {
        double e = (i + 0.5) / NE;
        xs[i].total = 1 + 0.3 / sqrt(e) + 0.2 * sin(900 * e);
        xs[i].absorb = 0.08 * xs[i].total * (1 + 0.5 * cos(313 * e));
    }
    tally = malloc((size_t)nthreads * NBIN * sizeof *tally);
    memset(tally, 0, (size_t)nthreads * NBIN * sizeof *tally);

    pthread_t th[MAXT];
    for (int t = 0; t < nthreads; t++) pthread_create(&th[t], NULL, work, (void*)(intptr_t)t);
    for (int t = 0; t < nthreads; t++) pthread_join(th[t], NULL);

    double *flux = calloc(NBIN, sizeof *flux), sum = 0;
    for (int t = 0; t < nthreads; t++)
        for (int i = 0; i < NBIN; i++) flux[i] += tally[(size_t)t * NBIN + i];
    for (int i = 0; i < NBIN; i++) sum += flux[i];
    long a = 0, sc = 0, es = 0;
    for (int t = 0; t < nthreads; t++) {
        a += stats[t].absorbed;
        sc += stats[t].scattered;
        es += stats[t].escaped;
    }
    printf("absorbed %ld scattered %ld escaped %ld flux %.6e\n", a, sc, es, sum);
    free(flux);
    free(tally);
    free(xs);
    return 0;
}
