// SPDX-License-Identifier: Apache-2.0
// Solves heat conduction in a stack of plates with Jacobi steps, with four POSIX threads and a
// barrier. The main thread only allocates the two fields. Each thread sets the start temperatures
// of its own plates, and computes the same plates in all steps. Threads read one plate of each
// neighbour.
// label: run = no NUMA problem
// label: now = partitioned
// action: now = none
// harm: now = spread
// label: next = partitioned
// action: next = none
// harm: next = spread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, N = 128, PLATES = 128, STEPS = 6 };

static double *now, *next;
static pthread_barrier_t step_done;

struct part {
    pthread_t thread;
    int first, last;
    double heat;
};

static void* solve(void* argument) {
    struct part* self = argument;
    double *from = now, *to = next, heat = 0;
    for (int z = self->first; z < self->last; z++)
        for (int i = 0; i < N * N; i++) {
            from[(size_t)z * N * N + i] = (i + z) % 17;
            to[(size_t)z * N * N + i] = (i + z) % 17;
        }
    pthread_barrier_wait(&step_done);
    for (int step = 0; step < STEPS; step++) {
        for (int z = self->first; z < self->last; z++) {
            if (z == 0 || z == PLATES - 1) continue;
            for (int y = 1; y < N - 1; y++) {
                const double* c = from + ((size_t)z * N + y) * N;
                double* d = to + ((size_t)z * N + y) * N;
                for (int x = 1; x < N - 1; x++)
                    d[x] = 0.4 * c[x] + 0.1 * (c[x - 1] + c[x + 1] + c[x - N] + c[x + N] +
                                               c[x - N * N] + c[x + N * N]);
            }
        }
        double* swap = from;
        from = to;
        to = swap;
        pthread_barrier_wait(&step_done);
    }
    for (int z = self->first; z < self->last; z++)
        heat += from[((size_t)z * N + N / 2) * N + N / 2];
    self->heat = heat;
    return NULL;
}

int main(void) {
    struct part parts[THREADS];
    double heat = 0;
    size_t bytes = sizeof(double) * N * N * PLATES;
    now = malloc(bytes);
    next = malloc(bytes);
    if (!now || !next) return 1;
    pthread_barrier_init(&step_done, NULL, THREADS);
    for (int t = 0; t < THREADS; t++) {
        parts[t].first = PLATES / THREADS * t;
        parts[t].last = PLATES / THREADS * (t + 1);
        if (pthread_create(&parts[t].thread, NULL, solve, &parts[t])) return 1;
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(parts[t].thread, NULL);
        heat += parts[t].heat;
    }
    printf("heat along the axis: %.6f\n", heat);
    free(now);
    free(next);
    return 0;
}
