// SPDX-License-Identifier: Apache-2.0
// Each thread works on its own block, which it touched first. Main copies all of it now and then.
// label: run = no NUMA problem
// action: run = none
// label: u = partitioned
// action: u = none
// harm: u = spread
// label: v = partitioned
// action: v = none
// harm: v = spread
// label: ckpt = partitioned
// action: ckpt = none | local
// harm: ckpt = spread
/* 1-D heat equation, split tiling in time, with checkpoints. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1048576
#define TB 16
#define TILES 20
#define CKPT_EVERY 5

static inline void step(const double* restrict a, double* restrict b, long lo, long hi) {
    for (long i = lo; i < hi; i++) b[i] = a[i] + 0.24 * (a[i - 1] - 2 * a[i] + a[i + 1]);
}

int main(int argc, char** argv) {
    if (argc > 1)
        omp_set_num_threads(atoi(argv[1]));
    else if (!getenv("OMP_NUM_THREADS"))
        omp_set_num_threads(4);

    double *u = malloc(N * sizeof *u), *v = malloc(N * sizeof *v), *ckpt = malloc(N * sizeof *ckpt);
    double sum = 0;
    double* buf[2] = {u, v};

#pragma omp parallel
    {
        int t = omp_get_thread_num(), nt = omp_get_num_threads();
        long lo = (long)N * t / nt, hi = (long)N * (t + 1) / nt;
        for (long i = lo; i < hi; i++) u[i] = v[i] = (i % 1000) * 1e-3 + (i / 4096 % 7);
        int left = t == 0, right = t == nt - 1;
#pragma omp barrier
        for (int tile = 0; tile < TILES; tile++) {
            /* TB is even: a tile starts and ends in u */
            for (int s = 1; s <= TB; s++)
                step(buf[(s - 1) & 1], buf[s & 1], left ? 1 : lo + s, right ? N - 1 : hi - s);
#pragma omp barrier
            if (!left)
                for (int s = 1; s <= TB; s++) step(buf[(s - 1) & 1], buf[s & 1], lo - s, lo + s);
#pragma omp barrier
            if (tile % CKPT_EVERY == CKPT_EVERY - 1) {
#pragma omp master
                {
                    memcpy(ckpt, u, N * sizeof *u);
                    double c = 0;
                    for (long i = 0; i < N; i++) c += ckpt[i];
                    sum = sum * 0.5 + c;
                }
#pragma omp barrier
            }
        }
    }
    printf("checkpoint sum %.10e mid %.10f\n", sum, u[N / 2]);
    free(u);
    free(v);
    free(ckpt);
    return 0;
}
