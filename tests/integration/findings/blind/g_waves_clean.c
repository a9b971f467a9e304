// SPDX-License-Identifier: Apache-2.0
// The wave equation on a square, NUMA-clean: sixteen POSIX threads own strips, and each thread
// fills its own strip before the first step. Three fields, used in turn.
// label: past = partitioned
// Why: each strip is first touched and used by its owner, but for a row at each border.
// action: past = none
// label: now = partitioned
// Why: as `past`.
// action: now = none
// label: next = partitioned
// Why: as `past`.
// action: next = none
// label: run = no NUMA problem
// Why: nothing but the borders is shared.
// action: run = none
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1536, THREADS = 16, STEPS = 8, ROWS = N / THREADS };

static float *past, *now, *next;
static pthread_barrier_t step_done;

static void fill(int low, int high) {
    for (int y = low; y < high; y++) {
        for (int x = 0; x < N; x++) {
            float dx = (float)(x - N / 2) / 40, dy = (float)(y - N / 2) / 40;
            float bump = 1 / (1 + dx * dx + dy * dy);
            past[(size_t)y * N + x] = bump;
            now[(size_t)y * N + x] = bump;
            next[(size_t)y * N + x] = 0;
        }
    }
}

static void* own_strip(void* argument) {
    int me = (int)(intptr_t)argument;
    int low = me * ROWS, high = low + ROWS;
    fill(low, high);
    float *a = past, *b = now, *c = next;
    pthread_barrier_wait(&step_done);
    if (low == 0) low = 1;
    if (high == N) high = N - 1;
    for (int step = 0; step < STEPS; step++) {
        for (int y = low; y < high; y++) {
            const float* row = b + (size_t)y * N;
            for (int x = 1; x < N - 1; x++) {
                float laplace = row[x - 1] + row[x + 1] + row[x - N] + row[x + N] - 4 * row[x];
                c[(size_t)y * N + x] = 2 * row[x] - a[(size_t)y * N + x] + 0.2f * laplace;
            }
        }
        pthread_barrier_wait(&step_done);
        float* oldest = a;
        a = b;
        b = c;
        c = oldest;
    }
    return NULL;
}

int main(void) {
    size_t bytes = sizeof(float) * N * N;
    past = aligned_alloc(4096, bytes);
    now = aligned_alloc(4096, bytes);
    next = aligned_alloc(4096, bytes);
    if (!past || !now || !next) return 1;
    pthread_barrier_init(&step_done, NULL, THREADS);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, own_strip, (void*)(intptr_t)t)) return 1;
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("middle %.6f\n", now[(size_t)(N / 2) * N + N / 2]);
    free(past);
    free(now);
    free(next);
    return 0;
}
