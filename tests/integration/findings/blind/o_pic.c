// SPDX-License-Identifier: Apache-2.0
// Each thread has its own particles, which main filled, and its own grid. Counters of all threads
// lie side by side.
// label: px = serial first touch
// action: px = local
// label: py = serial first touch
// action: py = local
// label: vx = serial first touch
// action: vx = local
// label: vy = serial first touch
// action: vy = local
// label: kin = false sharing of cache lines
// action: kin = pad
// label: mom = false sharing of cache lines
// action: mom = pad
// label: rho_part = partitioned
// action: rho_part = none
// harm: rho_part = spread | local
// minor: ex = shared, written
// action: ex = none | spread | divide
// minor: ey = shared, written
// action: ey = none | spread | divide
// label: rho = partitioned
// action: rho = none
// harm: rho = spread
/* pic - 2-D electrostatic particle-in-cell, cloud-in-cell weighting, periodic box.
 *   pic [threads] [steps]
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NX 512
#define NY 512
#define NP 600000
#define DT 0.2

static double *px, *py, *vx, *vy; /* particles, structure of arrays */
static double *rho, *ex, *ey;     /* grid */
static double* rho_part;          /* one private charge grid for each thread */
static double *kin, *mom;         /* per thread diagnostics */

static double frand(unsigned long* s) {
    *s = *s * 6364136223846793005UL + 1442695040888963407UL;
    return (*s >> 11) * (1.0 / 9007199254740992.0);
}

static void load_particles(void) {
    unsigned long s = 42;
    for (long p = 0; p < NP; p++) {
        double u = frand(&s), w = frand(&s);
        px[p] = NX * frand(&s);
        py[p] = NY * frand(&s);
        /* two streams in x, thermal spread by Box-Muller */
        double r = sqrt(-2.0 * log(u + 1e-12));
        vx[p] = (p & 1 ? 1.0 : -1.0) + 0.1 * r * cos(2 * M_PI * w);
        vy[p] = 0.1 * r * sin(2 * M_PI * w);
    }
}

static void deposit(double* g, int tid, int nt) {
    long from = (long)NP * tid / nt, to = (long)NP * (tid + 1) / nt;
    memset(g, 0, sizeof(double) * NX * NY);
    for (long p = from; p < to; p++) {
        int i = (int)px[p], j = (int)py[p];
        double fx = px[p] - i, fy = py[p] - j;
        int i1 = (i + 1) & (NX - 1), j1 = (j + 1) & (NY - 1);
        g[j * NX + i] += (1 - fx) * (1 - fy);
        g[j * NX + i1] += fx * (1 - fy);
        g[j1 * NX + i] += (1 - fx) * fy;
        g[j1 * NX + i1] += fx * fy;
    }
}

static void push(int tid, int nt) {
    long from = (long)NP * tid / nt, to = (long)NP * (tid + 1) / nt;
    for (long p = from; p < to; p++) {
        int c = (int)py[p] * NX + (int)px[p];
        vx[p] -= DT * ex[c];
        vy[p] -= DT * ey[c];
        double x = px[p] + DT * vx[p], y = py[p] + DT * vy[p];
        if (x < 0)
            x += NX;
        else if (x >= NX)
            x -= NX;
        if (y < 0)
            y += NY;
        else if (y >= NY)
            y -= NY;
        if (x >= NX) x = 0;
        if (y >= NY) y = 0;
        px[p] = x;
        py[p] = y;
        kin[tid] += 0.5 * (vx[p] * vx[p] + vy[p] * vy[p]);
        mom[tid] += vx[p];
    }
}

int main(int argc, char** argv) {
    int nt = argc > 1 ? atoi(argv[1]) : 4;
    int steps = argc > 2 ? atoi(argv[2]) : 5;
    const double back = (double)NP / ((double)NX * NY);
    omp_set_num_threads(nt);

    px = malloc(NP * sizeof *px);
    py = malloc(NP * sizeof *py);
    vx = malloc(NP * sizeof *vx);
    vy = malloc(NP * sizeof *vy);
    load_particles();

    rho = malloc(sizeof(double) * NX * NY);
    ex = malloc(sizeof(double) * NX * NY);
    ey = malloc(sizeof(double) * NX * NY);
    rho_part = malloc(sizeof(double) * NX * NY * nt);
    kin = calloc(nt, sizeof *kin);
    mom = calloc(nt, sizeof *mom);

#pragma omp parallel
    {
        int tid = omp_get_thread_num();
        for (int s = 0; s < steps; s++) {
            deposit(rho_part + (size_t)tid * NX * NY, tid, nt);
#pragma omp barrier

/* sum the private grids */
#pragma omp for schedule(static)
            for (int j = 0; j < NY; j++)
                for (int i = 0; i < NX; i++) {
                    double q = -back;
                    for (int t = 0; t < nt; t++) q += rho_part[((size_t)t * NY + j) * NX + i];
                    rho[j * NX + i] = q;
                }

/* local field model: gradient of the smoothed charge */
#pragma omp for schedule(static)
            for (int j = 0; j < NY; j++) {
                int jm = (j - 1) & (NY - 1), jp = (j + 1) & (NY - 1);
                for (int i = 0; i < NX; i++) {
                    int im = (i - 1) & (NX - 1), ip = (i + 1) & (NX - 1);
                    ex[j * NX + i] = 0.05 * (rho[j * NX + ip] - rho[j * NX + im]);
                    ey[j * NX + i] = 0.05 * (rho[jp * NX + i] - rho[jm * NX + i]);
                }
            }
            push(tid, nt);
#pragma omp barrier
        }
    }

    double k = 0, m = 0, q = 0;
    for (int t = 0; t < nt; t++) k += kin[t], m += mom[t];
    for (long c = 0; c < NX * NY; c++) q += rho[c] * rho[c];
    printf("steps %d kinetic %.6e momentum %.6e charge2 %.6e\n", steps, k, m, q);
    return 0;
}
