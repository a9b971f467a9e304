// SPDX-License-Identifier: Apache-2.0
// A two-dimensional FFT forward and back: in-place transforms of rows, with transposes between
// them. POSIX threads (main is thread 0) and a barrier; every thread owns, sets and transforms a
// block of rows.
// label: a = partitioned
// Why: nine butterfly stages stay within a thread's rows; only the transpose reads the others'
// rows, once.
// label: b = partitioned
// Why: as a; the transpose writes a thread's own rows, and the stages stay in them.
// label: tw = cache-resident
// Why: 4 KiB of constants that every core keeps in its first cache.
// label: run = no NUMA problem
// Why: under a tenth of the accesses leave a thread's own rows, and this exchange is inherent in a
// transpose.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 512, LOG = 9, THREADS = 4, ROUNDS = 2 };

typedef struct {
    double re, im;
} Complex;

static Complex *a, *b;
static Complex tw[N / 2];
static pthread_barrier_t barrier;
static double worst[THREADS];

static double wanted(int y, int x) {
    return sin(0.05 * y) + cos(0.03 * x * y) + x % 7;
}

static void transform(Complex* row, int inverse) {
    for (unsigned i = 1, j = 0; i < N; i++) {
        unsigned bit = N >> 1;
        for (; j & bit; bit >>= 1) {
            j ^= bit;
        }
        j ^= bit;
        if (i < j) {
            Complex swapped = row[i];
            row[i] = row[j];
            row[j] = swapped;
        }
    }
    for (int size = 2; size <= N; size *= 2) {
        int half = size / 2, stride = N / size;
        for (int start = 0; start < N; start += size) {
            for (int k = 0; k < half; k++) {
                Complex w = tw[k * stride];
                if (inverse) {
                    w.im = -w.im;
                }
                Complex *low = &row[start + k], *high = &row[start + k + half];
                double re = high->re * w.re - high->im * w.im;
                double im = high->re * w.im + high->im * w.re;
                high->re = low->re - re;
                high->im = low->im - im;
                low->re += re;
                low->im += im;
            }
        }
    }
}

// Writes the rows from `first` of `to`; reads these columns of `from`, in tiles.
static void transpose(const Complex* from, Complex* to, int first, int last) {
    for (int y0 = first; y0 < last; y0 += 16) {
        for (int x0 = 0; x0 < N; x0 += 16) {
            for (int y = y0; y < y0 + 16; y++) {
                for (int x = x0; x < x0 + 16; x++) {
                    to[y * N + x] = from[x * N + y];
                }
            }
        }
    }
}

static void rows(Complex* grid, int first, int last, int inverse) {
    for (int y = first; y < last; y++) {
        transform(&grid[y * N], inverse);
    }
    pthread_barrier_wait(&barrier);
}

static void* work(void* argument) {
    int t = (int)(size_t)argument;
    int first = t * N / THREADS, last = (t + 1) * N / THREADS;
    for (int y = first; y < last; y++) {
        for (int x = 0; x < N; x++) {
            a[y * N + x] = (Complex){wanted(y, x), 0};
        }
    }
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < ROUNDS; round++) {
        rows(a, first, last, 0);
        transpose(a, b, first, last);
        rows(b, first, last, 0);
        rows(b, first, last, 1);
        transpose(b, a, first, last);
        pthread_barrier_wait(&barrier);
        rows(a, first, last, 1);
        for (int i = first * N; i < last * N; i++) {
            a[i].re /= (double)N * N;
            a[i].im /= (double)N * N;
        }
    }
    double error = 0;
    for (int y = first; y < last; y++) {
        for (int x = 0; x < N; x++) {
            error = fmax(error, fabs(a[y * N + x].re - wanted(y, x)));
        }
    }
    worst[t] = error;
    return NULL;
}

int main(void) {
    a = malloc(sizeof(Complex) * N * N);
    b = malloc(sizeof(Complex) * N * N);
    for (int k = 0; k < N / 2; k++) {
        double angle = -2 * 3.14159265358979323846 * k / N;
        tw[k] = (Complex){cos(angle), sin(angle)};
    }
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (size_t t = 1; t < THREADS; t++) {
        pthread_create(&threads[t], NULL, work, (void*)t);
    }
    work((void*)0);
    double error = worst[0];
    for (int t = 1; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        error = fmax(error, worst[t]);
    }
    printf("largest error %.2e\n", error);
    free(a);
    free(b);
    return !(error < 1e-9);
}
