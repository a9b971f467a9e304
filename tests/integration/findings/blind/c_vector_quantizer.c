// SPDX-License-Identifier: Apache-2.0
// Trains a small codebook for vector quantization with two rounds of k-means. The vectors are made
// in parallel, in blocks of 64 vectors that are dealt out to the threads in turn. The assignment
// loop gives each thread one contiguous part of the vectors. The codebook is a local array of the
// main function, and all threads read it.
// label: points = remote first touch
// action: points = local
// label: centroids = stack shared with other threads
// action: centroids = local | copy or spread
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 1 << 18, DIM = 16, CODES = 6, ROUNDS = 2, BLOCK = 64 };

struct point {
    float v[DIM];
};

static struct point* make_points(void) {
    struct point* points = aligned_alloc(4096, POINTS * sizeof *points);
    if (!points) exit(1);
#pragma omp parallel for schedule(static, BLOCK)
    for (int p = 0; p < POINTS; p++) {
        uint32_t seed = (uint32_t)p * 2654435761u + 1u;
        for (int d = 0; d < DIM; d++) {
            seed = seed * 1664525u + 1013904223u;
            points[p].v[d] = (float)(seed >> 8) / 16777216.0f;
        }
    }
    return points;
}

int main(void) {
    struct point* points = make_points();
    struct point centroids[CODES];
    double error = 0;
    for (int c = 0; c < CODES; c++) centroids[c] = points[c * (POINTS / CODES)];
    for (int round = 0; round < ROUNDS; round++) {
        float sums[CODES][DIM] = {{0}};
        int counts[CODES] = {0};
        error = 0;
#pragma omp parallel for schedule(static) reduction(+ : sums, counts, error)
        for (int p = 0; p < POINTS; p++) {
            int best = 0;
            float best_distance = 1e30f;
            for (int c = 0; c < CODES; c++) {
                float distance = 0;
                for (int d = 0; d < DIM; d++) {
                    float delta = points[p].v[d] - centroids[c].v[d];
                    distance += delta * delta;
                }
                if (distance < best_distance) {
                    best_distance = distance;
                    best = c;
                }
            }
            for (int d = 0; d < DIM; d++) sums[best][d] += points[p].v[d];
            counts[best]++;
            error += (double)best_distance;
        }
        for (int c = 0; c < CODES; c++)
            for (int d = 0; d < DIM; d++)
                if (counts[c] > 0) centroids[c].v[d] = sums[c][d] / (float)counts[c];
    }
    printf("error %.3f\n", error / POINTS);
    free(points);
    return 0;
}
