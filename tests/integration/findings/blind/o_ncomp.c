// SPDX-License-Identifier: Apache-2.0
// Each thread fills, labels and counts its own strip of an image. Nothing is wrong.
// label: run = no NUMA problem
// action: run = none
// label: pix = partitioned
// action: pix = none
// harm: pix = spread
// label: parent = partitioned
// action: parent = none
// harm: parent = spread
/* ncomp - connected components (4-neighbourhood) of a thresholded micrograph.
 *   ncomp [threads] [size]
 * Strips of rows are labelled independently with union-find, the seams between strips are
 * joined afterwards, and the labels are flattened in a last pass.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int W, H, nt;
static uint8_t* pix;
static int* parent; /* label image, holds the union-find forest */

static int root(int x) {
    while (parent[x] != x) x = parent[x];
    return x;
}

/* The smaller index becomes the root, so the result does not depend on the order. */
static void unite(int a, int b) {
    a = root(a);
    b = root(b);
    if (a < b)
        parent[b] = a;
    else if (b < a)
        parent[a] = b;
}

static inline int strip(int t) {
    return (int)((long)H * t / nt);
}

static uint8_t noise(int x, int y) {
    /* value noise on a 6 pixel lattice plus grain */
    uint32_t a = (uint32_t)(x / 6) * 73856093u ^ (uint32_t)(y / 6) * 19349663u;
    uint32_t g = (uint32_t)x * 83492791u ^ (uint32_t)y * 2971215073u;
    a ^= a >> 13;
    a *= 0x5bd1e995u;
    a ^= a >> 15;
    g ^= g >> 13;
    g *= 0x5bd1e995u;
    g ^= g >> 15;
    return (uint8_t)(((a & 255) * 3 + (g & 255)) >> 2);
}

int main(int argc, char** argv) {
    nt = argc > 1 ? atoi(argv[1]) : 4;
    W = H = argc > 2 ? atoi(argv[2]) : 2816;
    omp_set_num_threads(nt);

    pix = aligned_alloc(4096, ((size_t)W * H + 4095) & ~4095UL);
    parent = aligned_alloc(4096, ((size_t)W * H * sizeof *parent + 4095) & ~4095UL);

    long ncomp = 0, area = 0;
    uint64_t sum = 0;
#pragma omp parallel reduction(+ : ncomp, area, sum)
    {
        int t = omp_get_thread_num();
        int y0 = strip(t), y1 = strip(t + 1);

        /* acquire */
        for (int y = y0; y < y1; y++)
            for (int x = 0; x < W; x++) pix[(size_t)y * W + x] = noise(x, y) > 150;

        /* label the strip */
        for (int y = y0; y < y1; y++)
            for (int x = 0; x < W; x++) {
                int i = y * W + x;
                parent[i] = i;
                if (!pix[i]) continue;
                if (x > 0 && pix[i - 1]) parent[i] = parent[i - 1];
                if (y > y0 && pix[i - W]) unite(i, i - W);
            }
        for (int y = y0; y < y1; y++)
            for (int x = 0; x < W; x++) parent[y * W + x] = root(y * W + x);
#pragma omp barrier

/* seams: nt - 1 rows, not worth a tree */
#pragma omp single
        for (int s = 1; s < nt; s++)
            for (int x = 0; x < W; x++) {
                int i = strip(s) * W + x;
                if (pix[i] && pix[i - W]) unite(i, i - W);
            }

        /* count and fingerprint */
        for (int y = y0; y < y1; y++)
            for (int x = 0; x < W; x++) {
                int i = y * W + x;
                if (!pix[i]) continue;
                int r = root(i);
                ncomp += r == i;
                area++;
                sum += (uint64_t)r * (uint32_t)(x + 1);
            }
    }
    printf("%d x %d: components %ld area %ld checksum %016lx\n", W, H, ncomp, area, sum);
    return 0;
}
