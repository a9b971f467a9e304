// SPDX-License-Identifier: Apache-2.0
// Test particles in a fixed electric potential, as in the push of a particle-in-cell code. The four
// particle arrays are set and pushed with one static division, so each thread has its own part of
// them. The potential is computed once by main; each particle reads it where it happens to be, and
// the particles of every thread are anywhere in the box: all threads read all pages of it, and
// nobody writes it after the start.
// label: potential = shared, read-mostly
// action: potential = copy or spread
// harm: potential = local
// label: pos_x = partitioned
// action: pos_x = none
// label: pos_y = partitioned
// action: pos_y = none
// label: vel_x = partitioned
// action: vel_x = none
// label: vel_y = partitioned
// action: vel_y = none
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { NX = 512, NY = 256, PARTICLES = 1 << 19, STEPS = 12 };

static double uniform(uint64_t key) {
    key += 0x9e3779b97f4a7c15u;
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return (double)((key ^ (key >> 31)) >> 11) * 0x1p-53;
}

static void solve_potential(double* potential) {
    for (int y = 0; y < NY; y++) {
        for (int x = 0; x < NX; x++) {
            potential[(size_t)y * NX + x] =
                0.4 * sin(x * (6.283185307 / NX)) * cos(y * (12.566370614 / NY));
        }
    }
}

static double wrap(double value, double length) {
    if (value < 0) return value + length;
    if (value >= length) return value - length;
    return value;
}

int main(void) {
    double* potential = aligned_alloc(4096, sizeof(double) * NX * NY);
    double* pos_x = malloc(sizeof(double) * PARTICLES);
    double* pos_y = malloc(sizeof(double) * PARTICLES);
    double* vel_x = malloc(sizeof(double) * PARTICLES);
    double* vel_y = malloc(sizeof(double) * PARTICLES);
    if (!potential || !pos_x || !pos_y || !vel_x || !vel_y) return 1;
    solve_potential(potential);

#pragma omp parallel for schedule(static)
    for (int p = 0; p < PARTICLES; p++) {
        pos_x[p] = NX * uniform(4u * p);
        pos_y[p] = NY * uniform(4u * p + 1);
        vel_x[p] = uniform(4u * p + 2) - 0.5;
        vel_y[p] = uniform(4u * p + 3) - 0.5;
    }

    for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for schedule(static)
        for (int p = 0; p < PARTICLES; p++) {
            int x = (int)pos_x[p] & (NX - 1);
            int y = (int)pos_y[p] & (NY - 1);
            double east = potential[(size_t)y * NX + ((x + 1) & (NX - 1))];
            double west = potential[(size_t)y * NX + ((x - 1) & (NX - 1))];
            double north = potential[(size_t)((y + 1) & (NY - 1)) * NX + x];
            double south = potential[(size_t)((y - 1) & (NY - 1)) * NX + x];
            vel_x[p] += 0.5 * (west - east);
            vel_y[p] += 0.5 * (south - north);
            pos_x[p] = wrap(pos_x[p] + vel_x[p], NX);
            pos_y[p] = wrap(pos_y[p] + vel_y[p], NY);
        }
    }

    double energy = 0;
#pragma omp parallel for schedule(static) reduction(+ : energy)
    for (int p = 0; p < PARTICLES; p++) energy += 0.5 * (vel_x[p] * vel_x[p] + vel_y[p] * vel_y[p]);
    printf("energy %.4f\n", energy);
    free(vel_y);
    free(vel_x);
    free(pos_y);
    free(pos_x);
    free(potential);
    return 0;
}
