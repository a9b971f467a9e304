// SPDX-License-Identifier: Apache-2.0
// Density clustering over a packed lower triangle of distances: for many radii, count the
// neighbours of each point. Main reads the distances in. Then rows are divided statically into
// equal numbers of rows, but row i has i + 1 distances: with 4 threads the last one has 7/16 of the
// work, 1.75 times the mean. Each thread only reads its own rows, the same in all rounds.
// label: distances = serial first touch
// action: distances = local
// label: run = load imbalance
// action: run = balance
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 2048, RADII = 60 };

static size_t row_start(size_t row) {
    return row * (row + 1) / 2;
}

static void read_distances(double* distances) {
    uint64_t state = 1234567;
    for (size_t i = 0; i < row_start(POINTS); i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        distances[i] = (double)(state >> 11) * 0x1p-53;
    }
}

// The number of points of the row that are closer than the radius.
static int count_row(const double* row, int length, double radius) {
    int near = 0;
    for (int j = 0; j < length; j++) near += row[j] < radius;
    return near;
}

int main(void) {
    double* distances = malloc(sizeof(double) * row_start(POINTS));
    if (!distances) return 1;
    read_distances(distances);
    long best = 0;
    double best_radius = 0;
    for (int step = 1; step <= RADII; step++) {
        const double radius = step / (double)RADII;
        long cores = 0;
#pragma omp parallel for schedule(static) reduction(+ : cores)
        for (int i = 0; i < POINTS; i++) {
            int near = count_row(distances + row_start((size_t)i), i, radius);
            cores += near >= 400 && near < 800;
        }
        if (cores > best) {
            best = cores;
            best_radius = radius;
        }
    }
    printf("radius %.4f has %ld points in range\n", best_radius, best);
    free(distances);
    return 0;
}
