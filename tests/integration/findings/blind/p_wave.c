// SPDX-License-Identifier: Apache-2.0
// Main fills the velocities. Threads have blocks of half rows, so that two of them share pages.
// label: vel2 = serial first touch | shared by groups | page-level false sharing
// action: vel2 = local | divide | pad | spread
// label: u0 = shared by groups | page-level false sharing | partitioned
// action: u0 = divide | pad | local
// harm: u0 = spread
// label: u1 = shared by groups | page-level false sharing | partitioned
// action: u1 = divide | pad | local
// harm: u1 = spread
// minor: gather = cache-resident | serial first touch
// action: gather = none
// minor: damp_x = cache-resident | shared, read-mostly
// action: damp_x = none
// minor: damp_z = cache-resident | shared, read-mostly
// action: damp_z = none
// minor: wavelet = cache-resident | shared, read-mostly
// action: wavelet = none
// minor: step_barrier = true sharing of cache lines
// action: step_barrier = none
/* 2-D acoustic wave propagation, constant density, second order in time.
 * The domain is cut into px * py blocks, one POSIX thread per block.     */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NX 1536
#define NZ 1152
#define NSTEPS 240
#define NREC 96
#define SPONGE 40

struct block {
    int id, x0, x1, z0, z1;
};

struct model {
    float* vel2;    /* (v dt / dx)^2 */
    float *u0, *u1; /* previous and current pressure */
    float damp_x[NX], damp_z[NZ];
    float wavelet[NSTEPS];
    float* gather; /* NREC traces of NSTEPS samples */
};

static struct model mod;
static pthread_barrier_t step_barrier;

static void* xcalloc(size_t n, size_t s) {
    void* p = calloc(n, s);
    if (!p) {
        perror("calloc");
        exit(1);
    }
    return p;
}

static void build_model(struct model* m) {
    m->vel2 = xcalloc((size_t)NX * NZ, sizeof(float));
    m->u0 = xcalloc((size_t)NX * NZ, sizeof(float));
    m->u1 = xcalloc((size_t)NX * NZ, sizeof(float));
    m->gather = xcalloc((size_t)NREC * NSTEPS, sizeof(float));

    for (int z = 0; z < NZ; z++) {
        for (int x = 0; x < NX; x++) {
            float depth = z + 30.0f * sinf(x * 0.01f);
            float v = depth < 300 ? 1500.0f : depth < 700 ? 2300.0f : 3100.0f;
            float c = v * 0.0008f / 5.0f;
            m->vel2[(size_t)z * NX + x] = c * c;
        }
    }
    for (int x = 0; x < NX; x++) {
        int d = x < SPONGE ? SPONGE - x : x >= NX - SPONGE ? x - (NX - SPONGE) + 1 : 0;
        m->damp_x[x] = expf(-0.00002f * d * d);
    }
    for (int z = 0; z < NZ; z++) {
        int d = z >= NZ - SPONGE ? z - (NZ - SPONGE) + 1 : 0;
        m->damp_z[z] = expf(-0.00002f * d * d);
    }
    for (int t = 0; t < NSTEPS; t++) {
        float a = 3.14159f * 12.0f * (t * 0.0008f - 0.06f);
        m->wavelet[t] = (1.0f - 2.0f * a * a) * expf(-a * a);
    }
}

static void advance(struct model* m, float* restrict next, const float* restrict cur,
                    const struct block* b) {
    for (int z = b->z0; z < b->z1; z++) {
        size_t row = (size_t)z * NX;
        float dz = m->damp_z[z];
        for (int x = b->x0; x < b->x1; x++) {
            size_t i = row + x;
            float lap = cur[i - 1] + cur[i + 1] + cur[i - NX] + cur[i + NX] - 4.0f * cur[i];
            float d = dz * m->damp_x[x];
            next[i] = d * (2.0f * cur[i] - d * next[i] + m->vel2[i] * lap);
        }
    }
}

static void* propagate(void* arg) {
    struct block* b = arg;
    float *prev = mod.u0, *cur = mod.u1;
    const int sx = NX / 2, sz = 20, rz = 10;

    for (int t = 0; t < NSTEPS; t++) {
        if (sx >= b->x0 && sx < b->x1 && sz >= b->z0 && sz < b->z1)
            cur[(size_t)sz * NX + sx] += mod.wavelet[t];
        pthread_barrier_wait(&step_barrier);
        advance(&mod, prev, cur, b);
        if (rz >= b->z0 && rz < b->z1) {
            for (int r = 0; r < NREC; r++) {
                int x = 8 + r * (NX / NREC);
                if (x >= b->x0 && x < b->x1) mod.gather[r * NSTEPS + t] = cur[(size_t)rz * NX + x];
            }
        }
        pthread_barrier_wait(&step_barrier);
        float* tmp = prev;
        prev = cur;
        cur = tmp;
    }
    return NULL;
}

int main(int argc, char** argv) {
    int nt = argc > 1 ? atoi(argv[1]) : 4;
    int px = (int)sqrt((double)nt);
    while (nt % px) px--;
    int pz = nt / px;
    pthread_t* tid = xcalloc(nt, sizeof *tid);
    struct block* blk = xcalloc(nt, sizeof *blk);

    build_model(&mod);
    pthread_barrier_init(&step_barrier, NULL, nt);
    for (int k = 0; k < nt; k++) {
        int i = k % px, j = k / px;
        blk[k].id = k;
        blk[k].x0 = i == 0 ? 1 : NX * i / px;
        blk[k].x1 = i == px - 1 ? NX - 1 : NX * (i + 1) / px;
        blk[k].z0 = j == 0 ? 1 : NZ * j / pz;
        blk[k].z1 = j == pz - 1 ? NZ - 1 : NZ * (j + 1) / pz;
        pthread_create(&tid[k], NULL, propagate, &blk[k]);
    }
    for (int k = 0; k < nt; k++) pthread_join(tid[k], NULL);

    double sum = 0;
    for (int i = 0; i < NREC * NSTEPS; i++) sum += fabs(mod.gather[i]) * (1 + i % 7);
    printf("wave: %d x %d blocks, checksum %.6f\n", px, pz, sum);
    free(mod.vel2);
    free(mod.u0);
    free(mod.u1);
    free(mod.gather);
    free(tid);
    free(blk);
    return 0;
}
