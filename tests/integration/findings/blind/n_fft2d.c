// SPDX-License-Identifier: Apache-2.0
// Each thread transforms its own rows, which it touched first. A transpose reads rows of all
// threads.
// label: run = no NUMA problem
// action: run = none
// label: A = partitioned
// action: A = none
// harm: A = spread
// label: B = partitioned
// action: B = none
// harm: B = spread
/* 2-D FFT by rows and transposes. */
#include <complex.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N 1024
#define ROUNDS 8
#define BLK 16

typedef double complex cplx;
static cplx tw[N / 2];

static void fft_row(cplx* x) {
    for (int i = 1, j = 0; i < N; i++) {
        int bit = N >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            cplx t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
    }
    for (int len = 2; len <= N; len <<= 1) {
        int half = len / 2, stride = N / len;
        for (int i = 0; i < N; i += len)
            for (int k = 0; k < half; k++) {
                double ar = creal(x[i + k + half]), ai = cimag(x[i + k + half]);
                double wr = creal(tw[k * stride]), wi = cimag(tw[k * stride]);
                cplx b = (ar * wr - ai * wi) + I * (ar * wi + ai * wr), a = x[i + k];
                x[i + k] = a + b;
                x[i + k + half] = a - b;
            }
    }
}

static void transpose(const cplx* restrict in, cplx* restrict out, double scale) {
#pragma omp for schedule(static)
    for (int ib = 0; ib < N; ib += BLK)
        for (int jb = 0; jb < N; jb += BLK)
            for (int i = ib; i < ib + BLK; i++)
                for (int j = jb; j < jb + BLK; j++)
                    out[(size_t)i * N + j] = scale * in[(size_t)j * N + i];
}

int main(int argc, char** argv) {
    if (argc > 1)
        omp_set_num_threads(atoi(argv[1]));
    else if (!getenv("OMP_NUM_THREADS"))
        omp_set_num_threads(4);

    cplx *A = malloc(sizeof(cplx) * N * N), *B = malloc(sizeof(cplx) * N * N);
    for (int k = 0; k < N / 2; k++) tw[k] = cexp(-2 * M_PI * I * k / N);
    double sum = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                A[(size_t)i * N + j] = (i * 31 + j * 17) % 101 + I * ((i ^ j) % 13);
        for (int r = 0; r < ROUNDS; r++) {
#pragma omp for schedule(static)
            for (int i = 0; i < N; i++) fft_row(A + (size_t)i * N);
            transpose(A, B, 1.0);
#pragma omp for schedule(static)
            for (int i = 0; i < N; i++) fft_row(B + (size_t)i * N);
            transpose(B, A, 1.0 / N);
        }
#pragma omp for schedule(static) reduction(+ : sum)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) sum += cabs(A[(size_t)i * N + j]) * ((i + j) & 3);
    }
    printf("spectrum sum %.9e\n", sum);
    free(A);
    free(B);
    return 0;
}
