// SPDX-License-Identifier: Apache-2.0
// The density of a star disc, averaged over time: particles move, and each adds its mass to the
// four nearest cells, with atomic additions. Each thread has its own stars, whose arrays it
// initialised. The stars of every thread are spread over the whole disc, so all threads write all
// of the density. The disc is thin: rows near the middle receive several times as much mass as the
// mean row, and a row of 1024 cells is exactly a page. Parts of the map with equal numbers of stars
// would help, or spreading the pages over the nodes.
// label: density = shared, written
// label: density = hot pages
// action: density = spread | even parts | divide
// harm: density = local
// label: x = partitioned
// label: y = partitioned
// label: speed = partitioned
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 1024, STARS = 300000, STEPS = 12 };

static float uniform(uint32_t seed) {
    seed = (seed ^ 61) ^ (seed >> 16);
    seed *= 9;
    seed ^= seed >> 4;
    seed *= 0x27d4eb2d;
    return (float)((seed ^ (seed >> 15)) >> 8) * 0x1p-24f;
}

// The mean of four numbers: a bell with a standard deviation of 0.144 of its width.
static float bell(uint32_t seed) {
    return (uniform(seed) + uniform(seed + 1) + uniform(seed + 2) + uniform(seed + 3)) * 0.25f;
}

static void deposit(float* density, float x, float y) {
    int column = (int)x, row = (int)y;
    float right = x - (float)column, below = y - (float)row;
    float* cell = density + (size_t)row * SIDE + column;
#pragma omp atomic
    cell[0] += (1 - right) * (1 - below);
#pragma omp atomic
    cell[1] += right * (1 - below);
#pragma omp atomic
    cell[SIDE] += (1 - right) * below;
#pragma omp atomic
    cell[SIDE + 1] += right * below;
}

int main(void) {
    float* density = aligned_alloc(4096, sizeof(float) * SIDE * SIDE);
    float* x = malloc(sizeof(float) * STARS);
    float* y = malloc(sizeof(float) * STARS);
    float* speed = malloc(sizeof(float) * STARS);
    if (!density || !x || !y || !speed) return 1;
#pragma omp parallel for schedule(static)
    for (int cell = 0; cell < SIDE * SIDE; cell++) density[cell] = 0;
#pragma omp parallel for schedule(static)
    for (int s = 0; s < STARS; s++) {
        uint32_t seed = (uint32_t)s * 16;
        x[s] = uniform(seed + 9) * (SIDE - 2);
        // Every eighth star belongs to the halo, which is as wide as the map.
        float height = s % 8 == 0 ? uniform(seed + 11) : 0.5f + (bell(seed) - 0.5f) * 0.4f;
        y[s] = height * (SIDE - 2);
        speed[s] = uniform(seed + 10) * 8 - 4;
    }
    for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for schedule(static)
        for (int s = 0; s < STARS; s++) {
            x[s] += speed[s];
            if (x[s] < 0) x[s] += SIDE - 2;
            if (x[s] >= SIDE - 2) x[s] -= SIDE - 2;
            deposit(density, x[s], y[s]);
        }
    }
    double mass = 0;
#pragma omp parallel for schedule(static) reduction(+ : mass)
    for (int cell = 0; cell < SIDE * SIDE; cell++) mass += density[cell];
    printf("mass %.0f\n", mass);
    free(speed);
    free(y);
    free(x);
    free(density);
    return 0;
}
