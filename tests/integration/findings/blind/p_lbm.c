// SPDX-License-Identifier: Apache-2.0
// Each thread fills and updates its own rows. Nothing is wrong.
// label: run = no NUMA problem
// action: run = none
// minor: f = partitioned
// action: f = none
// harm: f = spread
// minor: g = partitioned
// action: g = none
// harm: g = spread
// minor: solid = partitioned | cache-resident
// action: solid = none
// minor: cx = cache-resident
// action: cx = none
// minor: cy = cache-resident
// action: cy = none
// minor: opp = cache-resident
// action: opp = none
// minor: w = cache-resident
// action: w = none
/* Lattice Boltzmann (D2Q9, BGK) lid-driven cavity. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { W = 560, H = 640, Q = 9, STEPS = 70 };

static const int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const int opp[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
static const float w[Q] = {4.f / 9,  1.f / 9,  1.f / 9,  1.f / 9, 1.f / 9,
                           1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};

#define AT(q, y, x) (((size_t)(q) * H + (y)) * W + (x))

static void init(float* f, float* g, unsigned char* solid) {
#pragma omp parallel for schedule(static)
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) {
            solid[(size_t)y * W + x] = x == 0 || x == W - 1 || y == 0 || y == H - 1;
            for (int q = 0; q < Q; q++) {
                f[AT(q, y, x)] = w[q];
                g[AT(q, y, x)] = w[q];
            }
        }
    }
}

static void step(const float* restrict f, float* restrict g, const unsigned char* solid,
                 float omega, float ulid) {
#pragma omp parallel for schedule(static)
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) {
            if (solid[(size_t)y * W + x]) continue;
            float in[Q], rho = 0, ux = 0, uy = 0;
            for (int q = 0; q < Q; q++) {
                int sy = y - cy[q], sx = x - cx[q];
                if (solid[(size_t)sy * W + sx]) {
                    in[q] = f[AT(opp[q], y, x)];
                    if (sy == H - 1) in[q] += 6.0f * w[q] * cx[q] * ulid;
                } else {
                    in[q] = f[AT(q, sy, sx)];
                }
                rho += in[q];
                ux += cx[q] * in[q];
                uy += cy[q] * in[q];
            }
            ux /= rho;
            uy /= rho;
            float usq = 1.5f * (ux * ux + uy * uy);
            for (int q = 0; q < Q; q++) {
                float cu = 3.0f * (cx[q] * ux + cy[q] * uy);
                float eq = w[q] * rho * (1.0f + cu + 0.5f * cu * cu - usq);
                g[AT(q, y, x)] = in[q] + omega * (eq - in[q]);
            }
        }
    }
}

static double kinetic(const float* f) {
    double e = 0;
#pragma omp parallel for schedule(static) reduction(+ : e)
    for (int y = 1; y < H - 1; y++) {
        for (int x = 1; x < W - 1; x++) {
            float ux = 0, uy = 0;
            for (int q = 0; q < Q; q++) {
                ux += cx[q] * f[AT(q, y, x)];
                uy += cy[q] * f[AT(q, y, x)];
            }
            e += ux * ux + uy * uy;
        }
    }
    return e;
}

int main(int argc, char** argv) {
    int nt = argc > 1 ? atoi(argv[1]) : 4;
    omp_set_num_threads(nt);
    size_t cells = (size_t)W * H;
    float* f = malloc(Q * cells * sizeof *f);
    float* g = malloc(Q * cells * sizeof *g);
    unsigned char* solid = malloc(cells);
    if (!f || !g || !solid) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    init(f, g, solid);

    double t0 = omp_get_wtime();
    for (int s = 0; s < STEPS; s++) {
        step(f, g, solid, 1.6f, 0.08f);
        float* t = f;
        f = g;
        g = t;
    }
    double t1 = omp_get_wtime();
    printf("lbm: %.1f MLUPS, checksum %.6f\n", cells * (double)STEPS / (t1 - t0) * 1e-6,
           kinetic(f));
    free(f);
    free(g);
    free(solid);
    return 0;
}
