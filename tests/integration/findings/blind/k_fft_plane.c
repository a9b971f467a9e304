// SPDX-License-Identifier: Apache-2.0
// Transforms a plane forth and back: FFT of the rows, transposition into the other array, FFT of
// its rows, and so on. Each thread initialises its own rows. The transforms use only own rows, but
// each transposition reads from every row of the source the quarter that belongs to the own rows of
// the target: this quarter of a row is one page. So a page has one user in the transforms and
// another one in the transposition. An exchange between all threads is part of the algorithm: to
// leave the pages with the owner of the rows is right, and to spread them would not be bad. The
// roots of unity (8 KiB) are read by all, and stay in the caches.
// label: plane = pages change users
// action: plane = none | local | spread
// label: turned = pages change users
// action: turned = none | local | spread
// label: roots = cache-resident
// action: roots = none
#include <complex.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 2048, BLOCK = 16 };

static float complex *plane, *turned;
static float complex roots[N / 2];

static float complex times(float complex a, float complex b) {
    float ar = crealf(a), ai = cimagf(a), br = crealf(b), bi = cimagf(b);
    return CMPLXF(ar * br - ai * bi, ar * bi + ai * br);
}

static void fft(float complex* row, int back) {
    for (unsigned i = 1, j = 0; i < N; i++) {
        unsigned bit = N >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            float complex t = row[i];
            row[i] = row[j];
            row[j] = t;
        }
    }
    for (int half = 1; half < N; half *= 2)
        for (int start = 0; start < N; start += 2 * half)
            for (int k = 0; k < half; k++) {
                float complex w = roots[k * (N / 2 / half)];
                float complex u = row[start + k];
                float complex v = times(row[start + k + half], back ? conjf(w) : w);
                row[start + k] = u + v;
                row[start + k + half] = u - v;
            }
}

static void rows(float complex* a, int back) {
#pragma omp parallel for schedule(static)
    for (int r = 0; r < N; r++) fft(a + (size_t)r * N, back);
}

static void transpose(const float complex* from, float complex* to) {
#pragma omp parallel for schedule(static)
    for (int r = 0; r < N; r += BLOCK)
        for (int c = 0; c < N; c += BLOCK)
            for (int i = r; i < r + BLOCK; i++)
                for (int j = c; j < c + BLOCK; j++) to[(size_t)i * N + j] = from[(size_t)j * N + i];
}

int main(int argc, char** argv) {
    omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 4);
    plane = aligned_alloc(4096, sizeof *plane * N * N);
    turned = aligned_alloc(4096, sizeof *turned * N * N);
    if (!plane || !turned) return 1;
    for (int k = 0; k < N / 2; k++) {
        double angle = -2 * 3.14159265358979323846 * k / N;
        roots[k] = CMPLXF((float)cos(angle), (float)sin(angle));
    }
#pragma omp parallel for schedule(static)
    for (int r = 0; r < N; r++)
        for (int c = 0; c < N; c++)
            plane[(size_t)r * N + c] = CMPLXF((float)((r * 7 + c * 13) % 64) - 31.5f, 0);
    rows(plane, 0);
    transpose(plane, turned);
    rows(turned, 0);
    printf("spectrum %.2f\n", (double)cabsf(turned[0]));
    rows(turned, 1);
    transpose(turned, plane);
    rows(plane, 1);
    double sum = 0;
    for (int i = 0; i < N; i++) sum += (double)crealf(plane[(size_t)i * N + i]) / N / N * i;
    printf("checksum %.1f\n", sum);
    free(plane), free(turned);
    return 0;
}
