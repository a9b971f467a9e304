// SPDX-License-Identifier: Apache-2.0
// Breadth-first search by levels on a random graph in compressed rows that the main thread builds.
// The vertices of a frontier are divided among the threads, but they are in no order, so any thread
// reads the edges of any vertex, and sets the level of any other: all threads use all pages of
// these arrays. The search is repeated from four roots. Found vertices are collected in a buffer on
// the thread's stack and copied to the next frontier, at the place that is free at this moment;
// another thread then reads them. So the pages of both frontiers change users.
// label: targets = shared, read-mostly
// action: targets = copy or spread
// harm: targets = local
// label: offsets = shared, read-mostly
// action: offsets = copy or spread
// harm: offsets = local
// label: level = shared, written
// action: level = spread
// harm: level = local
// label: frontier = pages change users
// action: frontier = spread
// label: next = pages change users
// action: next = spread
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERTICES = 1 << 19, DEGREE = 12, BUFFER = 1024, ROOTS = 4 };

static uint32_t *offsets, *targets, *frontier, *next;
static int32_t* level;

static void* allocate(size_t bytes) {
    void* p = malloc(bytes);
    if (!p) exit(1);
    return p;
}

static void build(void) {
    uint32_t state = 2463534242u, edges = 0;
    for (uint32_t v = 0; v < VERTICES; v++) {
        offsets[v] = edges;
        for (int k = 0; k < DEGREE; k++) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            targets[edges++] = state % VERTICES;
        }
    }
    offsets[VERTICES] = edges;
}

static uint32_t expand(uint32_t size, int32_t depth) {
    uint32_t found = 0;
#pragma omp parallel
    {
        uint32_t mine[BUFFER];
        uint32_t filled = 0;
#pragma omp for schedule(static) nowait
        for (uint32_t i = 0; i < size; i++) {
            uint32_t v = frontier[i];
            for (uint32_t e = offsets[v]; e < offsets[v + 1]; e++) {
                uint32_t w = targets[e];
                int32_t unseen = -1;
                if (__atomic_load_n(&level[w], __ATOMIC_RELAXED) != -1) continue;
                if (!__atomic_compare_exchange_n(&level[w], &unseen, depth, 0, __ATOMIC_RELAXED,
                                                 __ATOMIC_RELAXED))
                    continue;
                mine[filled++] = w;
                if (filled == BUFFER) {
                    uint32_t at = __atomic_fetch_add(&found, filled, __ATOMIC_RELAXED);
                    memcpy(next + at, mine, sizeof mine);
                    filled = 0;
                }
            }
        }
        uint32_t at = __atomic_fetch_add(&found, filled, __ATOMIC_RELAXED);
        memcpy(next + at, mine, filled * sizeof *mine);
    }
    return found;
}

int main(int argc, char** argv) {
    omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 4);
    offsets = allocate(sizeof *offsets * (VERTICES + 1));
    targets = allocate(sizeof *targets * VERTICES * DEGREE);
    frontier = allocate(sizeof *frontier * VERTICES);
    next = allocate(sizeof *next * VERTICES);
    level = allocate(sizeof *level * VERTICES);
    build();
    for (uint32_t root = 1; root <= ROOTS; root++) {
        for (size_t v = 0; v < VERTICES; v++) level[v] = -1;
        level[root] = 0;
        frontier[0] = root;
        uint32_t size = 1;
        int32_t depth = 0;
        uint64_t sum = 0;
        while (size > 0) {
            size = expand(size, ++depth);
            sum += (uint64_t)size * (uint64_t)depth;
            uint32_t* other = frontier;
            frontier = next;
            next = other;
        }
        printf("root %u: sum of levels %lu\n", root, sum);
    }
    free(offsets), free(targets), free(frontier), free(next), free(level);
    return 0;
}
