// SPDX-License-Identifier: Apache-2.0
// label: tiles = pages change users
// Why: 8 MB of tiles; each time step creates one task per tile and any thread may take it, so a
// tile's pages are worked on by another thread each step (and all were placed by the master in
// plant()).
// action: tiles = divide | spread
// harm: tiles = local | copy
// label: events = false sharing of cache lines
// Why: Four structs of 24 bytes side by side; each thread updates its own at each event inside the
// cell loop.
// action: events = pad
/* Forest-fire cellular simulation on a torus, tiled, one task per tile and
 * time step.
 *   usage: tiles [tiles per side] [steps] [threads]                          */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T 64 /* cells per tile side */
enum { EMPTY, TREE, FIRE };

typedef struct {
    float fuel[T][T];
    unsigned char state[2][T][T];
} tile_t;

typedef struct {
    long ignited, burnt, grown;
} events_t;

static int nts; /* tiles per side */
static tile_t* tiles;
static events_t* events; /* one per thread */

static tile_t* tile(int ty, int tx) {
    ty = (ty + nts) % nts;
    tx = (tx + nts) % nts;
    return &tiles[ty * nts + tx];
}

static inline unsigned hash3(unsigned a, unsigned b, unsigned c) {
    unsigned h = a * 0x9E3779B1u ^ b * 0x85EBCA77u ^ c * 0xC2B2AE3Du;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    h ^= h >> 12;
    return h;
}

static void plant(void) {
    for (int i = 0; i < nts * nts; i++) {
        tile_t* t = &tiles[i];
        memset(t->state, EMPTY, sizeof t->state);
        for (int y = 0; y < T; y++)
            for (int x = 0; x < T; x++) {
                unsigned r = hash3(i, y, x);
                t->fuel[y][x] = 1.0f + (r & 255) / 256.0f;
                t->state[0][y][x] = (r >> 8) % 100 < 70 ? TREE : EMPTY;
                if ((r >> 16) % 1500 == 0) t->state[0][y][x] = FIRE;
            }
    }
}

static int burning(const tile_t* t, int cur, int ty, int tx, int y, int x) {
    if (y >= 0 && y < T && x >= 0 && x < T) return t->state[cur][y][x] == FIRE;
    return tile(ty + (y < 0 ? -1 : y >= T), tx + (x < 0 ? -1 : x >= T))
               ->state[cur][(y + T) % T][(x + T) % T] == FIRE;
}

static void step_tile(int ty, int tx, int cur, int step) {
    tile_t* t = tile(ty, tx);
    events_t* ev = &events[omp_get_thread_num()];
    for (int y = 0; y < T; y++)
        for (int x = 0; x < T; x++) {
            unsigned char s = t->state[cur][y][x], next = s;
            if (s == TREE) {
                if (burning(t, cur, ty, tx, y - 1, x) || burning(t, cur, ty, tx, y + 1, x) ||
                    burning(t, cur, ty, tx, y, x - 1) || burning(t, cur, ty, tx, y, x + 1)) {
                    next = FIRE;
                    ev->ignited++;
                } else {
                    t->fuel[y][x] += 0.01f;
                }
            } else if (s == FIRE) {
                t->fuel[y][x] -= 0.7f;
                if (t->fuel[y][x] <= 0.0f) {
                    next = EMPTY;
                    ev->burnt++;
                }
            } else {
                t->fuel[y][x] += 0.05f;
                if (hash3(step, (ty * nts + tx) * T + y, x) % 64 == 0) {
                    next = TREE;
                    ev->grown++;
                }
            }
            t->state[cur ^ 1][y][x] = next;
        }
}

int main(int argc, char** argv) {
    nts = argc > 1 ? atoi(argv[1]) : 18;
    int steps = argc > 2 ? atoi(argv[2]) : 14;
    int nt = argc > 3 ? atoi(argv[3]) : 4;
    tiles = malloc((size_t)nts * nts * sizeof *tiles);
    events = calloc((size_t)nt, sizeof *events);
    if (!tiles || !events) return 1;
    plant();

#pragma omp parallel num_threads(nt)
#pragma omp single
    for (int s = 0; s < steps; s++) {
        for (int ty = 0; ty < nts; ty++)
            for (int tx = 0; tx < nts; tx++)
#pragma omp task firstprivate(ty, tx, s)
                step_tile(ty, tx, s & 1, s);
#pragma omp taskwait
    }

    events_t sum = {0};
    for (int i = 0; i < nt; i++) {
        sum.ignited += events[i].ignited;
        sum.burnt += events[i].burnt;
        sum.grown += events[i].grown;
    }
    unsigned check = 0;
    for (int i = 0; i < nts * nts; i++)
        check = check * 31 + (unsigned)(tiles[i].fuel[i % T][5] * 1000);
    printf("ignited %ld burnt %ld grown %ld checksum %08x\n", sum.ignited, sum.burnt, sum.grown,
           check);
    free(tiles);
    free(events);
    return 0;
}
