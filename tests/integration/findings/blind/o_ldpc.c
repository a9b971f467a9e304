// SPDX-License-Identifier: Apache-2.0
// Each thread makes, decodes and counts its own frames. Nothing is wrong.
// label: run = no NUMA problem
// action: run = none
// harm: run = balance
// label: llr = partitioned
// action: llr = none
// harm: llr = spread
// label: out = partitioned
// action: out = none
// harm: out = spread
// minor: d = cache-resident | partitioned
// minor: vn_of = cache-resident | shared, read-mostly
// action: vn_of = copy | none
// minor: edge_of = cache-resident | shared, read-mostly
// action: edge_of = copy | none
/* ldpc - bit error rate of a regular (3,6) LDPC code under normalised min-sum decoding.
 *   ldpc [threads] [frames]
 * Every frame is the all-zero codeword over an AWGN channel; frames are independent.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 4096
#define DV 3
#define DC 6
#define M (N * DV / DC)
#define E (N * DV)
#define MAXIT 12

typedef struct { /* everything a decoder writes */
    float v2c[E];
    float c2v[E];
    float post[N];
    unsigned char hard[N];
} decoder_t;

static unsigned short vn_of[E]; /* edge (in check order) -> variable */
static unsigned short edge_of[N][DV];

static unsigned rng(unsigned long* s) {
    *s = *s * 6364136223846793005UL + 1442695040888963407UL;
    return (unsigned)(*s >> 33);
}

static void build_code(void) {
    unsigned long s = 7;
    unsigned char deg[N] = {0};
    for (int e = 0; e < E; e++) vn_of[e] = e % N;
    for (int e = E - 1; e > 0; e--) {
        int k = rng(&s) % (e + 1);
        unsigned short t = vn_of[e];
        vn_of[e] = vn_of[k];
        vn_of[k] = t;
    }
    for (int e = 0; e < E; e++) edge_of[vn_of[e]][deg[vn_of[e]]++] = e;
}

static void channel(float* llr, int frame, double sigma) {
    unsigned long s = 1234567UL + 7919UL * frame;
    for (int i = 0; i < N; i += 2) {
        double u = (rng(&s) + 1.0) / 2147483649.0, w = rng(&s) / 2147483648.0;
        double r = sigma * sqrt(-2 * log(u));
        llr[i] = (float)(2 / (sigma * sigma) * (1 + r * cos(2 * M_PI * w)));
        llr[i + 1] = (float)(2 / (sigma * sigma) * (1 + r * sin(2 * M_PI * w)));
    }
}

static int decode(decoder_t* d, const float* llr) {
    int it, bad = 0;
    for (int e = 0; e < E; e++) d->v2c[e] = llr[vn_of[e]];
    for (it = 1; it <= MAXIT; it++) {
        bad = 0;
        for (int c = 0; c < M; c++) {
            float m1 = 1e30f, m2 = 1e30f;
            int pos = 0, sign = 0;
            for (int k = 0; k < DC; k++) {
                float v = d->v2c[c * DC + k], a = fabsf(v);
                sign ^= v < 0;
                if (a < m1) {
                    m2 = m1;
                    m1 = a;
                    pos = k;
                } else if (a < m2)
                    m2 = a;
            }
            for (int k = 0; k < DC; k++) {
                float a = 0.8f * (k == pos ? m2 : m1);
                d->c2v[c * DC + k] = (sign ^ (d->v2c[c * DC + k] < 0)) ? -a : a;
            }
        }
        for (int v = 0; v < N; v++) {
            float p = llr[v];
            for (int k = 0; k < DV; k++) p += d->c2v[edge_of[v][k]];
            d->post[v] = p;
            d->hard[v] = p < 0;
            bad += p < 0;
            for (int k = 0; k < DV; k++) d->v2c[edge_of[v][k]] = p - d->c2v[edge_of[v][k]];
        }
        if (!bad) break;
    }
    return it;
}

int main(int argc, char** argv) {
    int nt = argc > 1 ? atoi(argv[1]) : 4;
    int frames = argc > 2 ? atoi(argv[2]) : 192;
    omp_set_num_threads(nt);
    build_code();

    float* llr = aligned_alloc(4096, (size_t)frames * N * sizeof *llr);
    unsigned char* out = aligned_alloc(4096, (size_t)frames * N);

    long errors = 0, iters = 0;
#pragma omp parallel reduction(+ : errors, iters)
    {
        decoder_t* d = aligned_alloc(4096, (sizeof *d + 4095) & ~4095UL);

#pragma omp for schedule(static)
        for (int f = 0; f < frames; f++) channel(llr + (size_t)f * N, f, f & 1 ? 0.80 : 0.84);

#pragma omp for schedule(static)
        for (int f = 0; f < frames; f++) {
            iters += decode(d, llr + (size_t)f * N);
            memcpy(out + (size_t)f * N, d->hard, N);
        }

#pragma omp for schedule(static)
        for (int f = 0; f < frames; f++)
            for (int i = 0; i < N; i++) errors += out[(size_t)f * N + i];
        free(d);
    }
    printf("frames %d iterations %ld bit errors %ld ber %.3e\n", frames, iters, errors,
           (double)errors / ((double)frames * N));
    return 0;
}
