// SPDX-License-Identifier: Apache-2.0
// Conjugate gradient with a matrix-free seven-point stencil on a cube.
// OpenMP, four threads; vectors are allocated untouched and set in the loops' own division by
// planes.
// label: x = partitioned
// Why: set and updated by the same static division of the planes.
// label: r = partitioned
// Why: set and updated by the same static division of the planes.
// label: p = partitioned
// Why: set in the same division; only the two border planes of each thread are read by a neighbour.
// label: q = partitioned
// Why: set and updated by the same static division of the planes.
// label: run = no NUMA problem
// Why: every vector is local but for thin halos, and all threads have 18 planes.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 72, S = N + 2, ITERATIONS = 14 };
#define AT(z, y, i) (((size_t)(z) * S + (y)) * S + (i))

static double *x, *r, *p, *q;

static double* vector(void) {
    return malloc(sizeof(double) * S * S * S);
}

static void zero_plane(int z) {
    for (size_t i = AT(z, 0, 0); i < AT(z + 1, 0, 0); i++) {
        x[i] = r[i] = p[i] = q[i] = 0;
    }
}

static void set_up(void) {
#pragma omp parallel for schedule(static)
    for (int z = 1; z <= N; z++) {
        zero_plane(z);
        if (z == 1) {
            zero_plane(0);
        }
        if (z == N) {
            zero_plane(N + 1);
        }
        for (int y = 1; y <= N; y++) {
            for (int i = 1; i <= N; i++) {
                double b = sin(0.3 * z) * cos(0.2 * y) + 0.01 * i;
                r[AT(z, y, i)] = b;
                p[AT(z, y, i)] = b;
            }
        }
    }
}

static double apply(void) {
    double dot = 0;
#pragma omp parallel for schedule(static) reduction(+ : dot)
    for (int z = 1; z <= N; z++) {
        for (int y = 1; y <= N; y++) {
            for (int i = 1; i <= N; i++) {
                size_t c = AT(z, y, i);
                double value = 6.5 * p[c] - p[c - 1] - p[c + 1] - p[c - S] - p[c + S] -
                               p[c - (size_t)S * S] - p[c + (size_t)S * S];
                q[c] = value;
                dot += p[c] * value;
            }
        }
    }
    return dot;
}

static double norm(void) {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int z = 1; z <= N; z++) {
        for (size_t c = AT(z, 0, 0); c < AT(z + 1, 0, 0); c++) {
            sum += r[c] * r[c];
        }
    }
    return sum;
}

static void update(double alpha) {
#pragma omp parallel for schedule(static)
    for (int z = 1; z <= N; z++) {
        for (int y = 1; y <= N; y++) {
            for (int i = 1; i <= N; i++) {
                size_t c = AT(z, y, i);
                x[c] += alpha * p[c];
                r[c] -= alpha * q[c];
            }
        }
    }
}

static void direct(double beta) {
#pragma omp parallel for schedule(static)
    for (int z = 1; z <= N; z++) {
        for (int y = 1; y <= N; y++) {
            for (int i = 1; i <= N; i++) {
                size_t c = AT(z, y, i);
                p[c] = r[c] + beta * p[c];
            }
        }
    }
}

int main(void) {
    omp_set_num_threads(4);
    x = vector();
    r = vector();
    p = vector();
    q = vector();
    set_up();
    double first = norm(), now = first;
    for (int k = 0; k < ITERATIONS; k++) {
        double alpha = now / apply();
        update(alpha);
        double next = norm();
        direct(next / now);
        now = next;
    }
    printf("residual %.3e of %.3e\n", sqrt(now), sqrt(first));
    free(x);
    free(r);
    free(p);
    free(q);
    return !(now < 1e-4 * first);
}
