// SPDX-License-Identifier: Apache-2.0
// Lattice-Boltzmann D2Q9, pull scheme, two grids: water over soil that is mostly solid.
// OpenMP, four threads; one static division by rows in all steps.
// label: grid_a = serial first touch
// Why: main sets the start distribution alone, and later every thread reads and writes only its own
// rows.
// action: grid_a = local|parallelise the existing loop
// harm: grid_a = copy
// label: grid_b = partitioned
// Why: the parallel step writes it first, with the division that uses it later.
// label: solid = cache-resident
// Why: 64 KiB, read only, 16 KiB of it per thread, so it stays in the caches.
// label: cx = cache-resident
// Why: nine constants that all threads read; they never leave the first caches.
// label: cy = cache-resident
// Why: as cx.
// label: weight = cache-resident
// Why: as cx.
// label: opposite = cache-resident
// Why: as cx.
// label: run = load imbalance
// Why: nine tenths of the lower half are solid and skipped, so the threads of the upper half do
// nearly all.
// action: run = balance
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

enum { NX = 256, NY = 256, Q = 9, STEPS = 24 };

static double grid_a[NY][NX][Q];
static double grid_b[NY][NX][Q];
static uint8_t solid[NY][NX];

static const int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const int opposite[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
static const double weight[Q] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                                 1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};

static void set_up(void) {
    uint32_t random = 12345;
    for (int y = 0; y < NY; y++) {
        for (int x = 0; x < NX; x++) {
            random = random * 1664525u + 1013904223u;
            uint32_t in_ten = (random >> 16) % 10;
            solid[y][x] = y < NY / 2 && in_ten != 0;
            double density = solid[y][x] ? 0.0 : 1.0 + 0.05 * sin(0.1 * x) * cos(0.07 * y);
            for (int q = 0; q < Q; q++) {
                grid_a[y][x][q] = weight[q] * density;
            }
        }
    }
}

static inline void collide(const double in[Q], double* out) {
    double rho = 0, ux = 0, uy = 0;
    for (int q = 0; q < Q; q++) {
        rho += in[q];
        ux += cx[q] * in[q];
        uy += cy[q] * in[q];
    }
    ux /= rho;
    uy /= rho;
    double square = 1.5 * (ux * ux + uy * uy);
    for (int q = 0; q < Q; q++) {
        double cu = 3.0 * (cx[q] * ux + cy[q] * uy);
        double equilibrium = weight[q] * rho * (1.0 + cu + 0.5 * cu * cu - square);
        out[q] = in[q] + 0.8 * (equilibrium - in[q]);
    }
}

static void step(double from[NY][NX][Q], double to[NY][NX][Q]) {
#pragma omp parallel for schedule(static)
    for (int y = 0; y < NY; y++) {
        for (int x = 0; x < NX; x++) {
            if (solid[y][x]) {
                continue;
            }
            double in[Q];
            for (int q = 0; q < Q; q++) {
                int sy = y - cy[q];
                int sx = (x - cx[q] + NX) % NX;
                int wall = sy < 0 || sy >= NY || solid[sy][sx];
                in[q] = wall ? from[y][x][opposite[q]] : from[sy][sx][q];
            }
            collide(in, to[y][x]);
        }
    }
}

static double mass(double grid[NY][NX][Q]) {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int y = 0; y < NY; y++) {
        for (int x = 0; x < NX; x++) {
            if (!solid[y][x]) {
                for (int q = 0; q < Q; q++) {
                    sum += grid[y][x][q];
                }
            }
        }
    }
    return sum;
}

int main(void) {
    omp_set_num_threads(4);
    set_up();
    double before = mass(grid_a);
    for (int s = 0; s < STEPS; s += 2) {
        step(grid_a, grid_b);
        step(grid_b, grid_a);
    }
    double after = mass(grid_a);
    printf("mass %.9f, then %.9f\n", before, after);
    return fabs(after - before) > 1e-8 * before;
}
