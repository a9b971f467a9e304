// SPDX-License-Identifier: Apache-2.0
// A static program without the C library, with SSE arithmetic: a matrix product, a stencil and a
// sum, on globals of several pages.
#include "freestanding.h"

enum { N = 40, STEPS = 10 };

static double a[N][N], b[N][N], c[N][N], next[N][N];
static float single[N * N];

static void multiply(void) {
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) {
            double sum = 0.0;
            for (long k = 0; k < N; k++) sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

static void smooth(void) {
    for (long i = 1; i < N - 1; i++)
        for (long j = 1; j < N - 1; j++)
            next[i][j] = 0.25 * (c[i - 1][j] + c[i + 1][j] + c[i][j - 1] + c[i][j + 1]);
    copy_words(c, next, sizeof c);
}

int freestanding_main(void) {
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) {
            a[i][j] = (double)(i + j);
            b[i][j] = (double)(i - j);
        }
    multiply();
    for (int step = 0; step < STEPS; step++) smooth();
    float sum = 0.0f;
    for (long i = 0; i < N * N; i++) {
        single[i] = (float)c[i / N][i % N];
        sum += single[i];
    }
    return sum == 0.5f;  // exits with 0 unless the sum has this value
}
