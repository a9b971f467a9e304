// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: Both lattices and the map of obstacles are first touched in the same collapsed static loop
// that each step uses, so each thread has its own rows; only one row at each border is of a
// neighbour.
// action: run = none
// harm: now = spread | copy | divide
// harm: next = spread | copy | divide
// harm: run = balance
// label: now = partitioned
// label: next = partitioned
// Flow around obstacles in a channel by a lattice Boltzmann method with nine directions.
//   usage: lbm_channel [threads] [width] [height] [steps]
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { directions = 9 };

static const int step_x[directions] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int step_y[directions] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const int opposite[directions] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
static const double weight[directions] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                                          1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};

struct lattice {
    int width, height;
    double *now, *next;
    unsigned char* solid;
};

static double equilibrium(int d, double density, double ux, double uy) {
    double along = 3 * (step_x[d] * ux + step_y[d] * uy);
    return weight[d] * density * (1 + along + 0.5 * along * along - 1.5 * (ux * ux + uy * uy));
}

static int obstacle(const struct lattice* l, int x, int y) {
    if (y == 0 || y == l->height - 1) return 1;
    int dx = x % 120 - 60, dy = (y + (x / 120) * 37) % 90 - 45;
    return dx * dx + dy * dy < 150;
}

static void* need(size_t bytes) {
    void* p = malloc(bytes);
    if (!p) exit(1);
    return p;
}

static void create(struct lattice* l, int width, int height) {
    size_t cells = (size_t)width * height;
    l->width = width;
    l->height = height;
    l->now = need(cells * directions * sizeof(double));
    l->next = need(cells * directions * sizeof(double));
    l->solid = need(cells);
#pragma omp parallel for collapse(2) schedule(static)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t cell = (size_t)y * width + x;
            l->solid[cell] = (unsigned char)obstacle(l, x, y);
            for (int d = 0; d < directions; d++)
                l->now[cell * directions + d] = l->next[cell * directions + d] =
                    equilibrium(d, 1.0, 0.05, 0);
        }
}

static void step(struct lattice* l, double relax) {
    int width = l->width, height = l->height;
    const double* now = l->now;
    double* next = l->next;
    const unsigned char* solid = l->solid;
#pragma omp parallel for collapse(2) schedule(static)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t cell = (size_t)y * width + x;
            double in[directions], density = 0, ux = 0, uy = 0;
            for (int d = 0; d < directions; d++) {
                int fx = x - step_x[d], fy = y - step_y[d];
                fx = fx < 0 ? width - 1 : fx == width ? 0 : fx;
                fy = fy < 0 ? 0 : fy == height ? height - 1 : fy;
                in[d] = now[((size_t)fy * width + fx) * directions + d];
                density += in[d];
                ux += step_x[d] * in[d];
                uy += step_y[d] * in[d];
            }
            double* out = next + cell * directions;
            if (solid[cell]) {
                for (int d = 0; d < directions; d++) out[d] = in[opposite[d]];
                continue;
            }
            ux = ux / density + 1e-5;
            uy /= density;
            for (int d = 0; d < directions; d++)
                out[d] = in[d] + relax * (equilibrium(d, density, ux, uy) - in[d]);
        }
    l->now = next;
    l->next = (double*)now;
}

static double flow(const struct lattice* l) {
    double sum = 0;
    for (int y = 0; y < l->height; y++) {
        const double* f = l->now + ((size_t)y * l->width + l->width / 2) * directions;
        for (int d = 0; d < directions; d++) sum += step_x[d] * f[d];
    }
    return sum / l->height;
}

int main(int argc, char** argv) {
    omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 4);
    int width = argc > 2 ? atoi(argv[2]) : 700;
    int height = argc > 3 ? atoi(argv[3]) : 480;
    int steps = argc > 4 ? atoi(argv[4]) : 14;
    struct lattice l;
    create(&l, width, height);
    for (int s = 0; s < steps; s++) step(&l, 1.2);
    printf("flow %.12f\n", flow(&l));
    free(l.now);
    free(l.next);
    free(l.solid);
    return 0;
}
