// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: Points and labels are first touched with the same static schedule as the assignment loop;
// the accumulators are per thread, in pages of their own.
// action: run = none
// harm: run = balance
// Labels of what needs no action, added after the first look:
// label: acc = cache-resident
// Why: 1.2 KB for each thread, on pages of its own.
// action: acc = none
// label: cent = cache-resident
// Why: 512 bytes that all threads read for each point.
// action: cent = none
// label: pts = partitioned
// Why: Filled and read with the same static division.
// action: pts = none
// harm: pts = spread
// label: lab = partitioned
// Why: As pts.
// action: lab = none
// harm: lab = spread
/* Lloyd's k-means with a persistent parallel region.
 *   usage: kmeans [points] [iterations] [threads]                            */
#include <float.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM 8
#define K 16
#define PAGE 4096

typedef struct {
    double sum[K][DIM];
    long count[K];
    long moved;
} accum_t;

static unsigned mix(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

static void* xalloc(size_t bytes) {
    void* p = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

static int nearest(const float* p, float cent[K][DIM]) {
    int best = 0;
    float bd = FLT_MAX;
    for (int c = 0; c < K; c++) {
        float d = 0;
        for (int j = 0; j < DIM; j++) {
            float e = p[j] - cent[c][j];
            d += e * e;
        }
        if (d < bd) {
            bd = d;
            best = c;
        }
    }
    return best;
}

int main(int argc, char** argv) {
    long n = argc > 1 ? atol(argv[1]) : 120000;
    int iters = argc > 2 ? atoi(argv[2]) : 24;
    int nt = argc > 3 ? atoi(argv[3]) : 4;

    float* pts = xalloc((size_t)n * DIM * sizeof *pts);
    int* lab = xalloc((size_t)n * sizeof *lab);
    accum_t** acc = calloc((size_t)nt, sizeof *acc);
    static float cent[K][DIM];
    long moved_total = 0;

#pragma omp parallel num_threads(nt)
    {
        int me = omp_get_thread_num();
        accum_t* my = acc[me] = xalloc(sizeof *my); /* own pages */
        memset(my, 0, sizeof *my);

#pragma omp for schedule(static)
        for (long i = 0; i < n; i++) {
            int c = mix((unsigned)i) % K;
            for (int j = 0; j < DIM; j++)
                pts[i * DIM + j] = (float)((c * 37 + j * 11) % 23) +
                                   (mix((unsigned)(i * DIM + j)) & 1023) / 512.0f;
            lab[i] = -1;
        }

#pragma omp master
        for (int c = 0; c < K; c++)
            memcpy(cent[c], pts + (size_t)c * (n / K) * DIM, sizeof cent[c]);
#pragma omp barrier

        for (int it = 0; it < iters; it++) {
            memset(my, 0, sizeof *my);
#pragma omp for schedule(static)
            for (long i = 0; i < n; i++) {
                const float* p = pts + i * DIM;
                int c = nearest(p, cent);
                if (c != lab[i]) {
                    lab[i] = c;
                    my->moved++;
                }
                my->count[c]++;
                for (int j = 0; j < DIM; j++) my->sum[c][j] += p[j];
            }
#pragma omp master
            {
                moved_total = 0;
                for (int c = 0; c < K; c++) {
                    double s[DIM] = {0};
                    long cnt = 0;
                    for (int t = 0; t < nt; t++) {
                        cnt += acc[t]->count[c];
                        for (int j = 0; j < DIM; j++) s[j] += acc[t]->sum[c][j];
                    }
                    if (cnt)
                        for (int j = 0; j < DIM; j++) cent[c][j] = (float)(s[j] / cnt);
                }
                for (int t = 0; t < nt; t++) moved_total += acc[t]->moved;
            }
#pragma omp barrier
        }
    }

    double check = 0;
    for (int c = 0; c < K; c++)
        for (int j = 0; j < DIM; j++) check += cent[c][j] * (c + 1);
    printf("n=%ld moved in last iteration=%ld checksum=%.6f\n", n, moved_total, check);
    for (int t = 0; t < nt; t++) free(acc[t]);
    free(acc);
    free(pts);
    free(lab);
    return 0;
}
