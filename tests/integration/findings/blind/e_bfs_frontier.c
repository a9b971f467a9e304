// SPDX-License-Identifier: Apache-2.0
// Breadth-first searches in a random graph. Each thread expands the vertices that it discovered
// itself: its queues are its own, allocated and filled by it. Any thread may discover any vertex,
// so that all threads read the adjacency lists of vertices everywhere, and read and claim levels
// everywhere. Nobody can say in advance who needs which page. The lists never change, and each node
// could have its own copy of them; levels are written, so they can only be spread over the nodes.
// label: neighbours = shared, read-mostly
// action: neighbours = copy or spread
// harm: neighbours = local
// label: levels = shared, written
// action: levels = spread
// harm: levels = local
// label: frontier = partitioned
// label: discovered = partitioned
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERTICES = 1 << 18, DEGREE = 20, SEARCHES = 4, UNSEEN = -1 };

static uint64_t next(uint64_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void generate(uint32_t* neighbours) {
    uint64_t state = 88172645463325252u;
    for (size_t e = 0; e < (size_t)VERTICES * DEGREE; e++) {
        neighbours[e] = (uint32_t)(next(&state) >> 20) % VERTICES;
    }
}

// Expands one thread's part of the frontier, and returns how many vertices it discovered.
static int expand(const uint32_t* neighbours, int* levels, const uint32_t* frontier, int size,
                  uint32_t* discovered, int level) {
    int found = 0;
    for (int i = 0; i < size; i++) {
        const uint32_t* list = neighbours + (size_t)frontier[i] * DEGREE;
        for (int n = 0; n < DEGREE; n++) {
            int* seen = &levels[list[n]];
            if (__atomic_load_n(seen, __ATOMIC_RELAXED) != UNSEEN) continue;
            int expected = UNSEEN;
            if (__atomic_compare_exchange_n(seen, &expected, level, 0, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED)) {
                discovered[found++] = list[n];
            }
        }
    }
    return found;
}

int main(void) {
    uint32_t* neighbours = malloc(sizeof(uint32_t) * VERTICES * DEGREE);
    int* levels = malloc(sizeof(int) * VERTICES);
    if (!neighbours || !levels) return 1;
    generate(neighbours);
    long total = 0;
    int discoveries = 0;
#pragma omp parallel
    {
        uint32_t* frontier = malloc(sizeof(uint32_t) * VERTICES);
        uint32_t* discovered = malloc(sizeof(uint32_t) * VERTICES);
        if (!frontier || !discovered) exit(1);
        for (int search = 0; search < SEARCHES; search++) {
#pragma omp for schedule(static)
            for (int v = 0; v < VERTICES; v++) levels[v] = UNSEEN;
            // Each thread starts from 8 sources of its own.
            int size = 0;
            for (int s = 0; s < 8; s++) {
                uint32_t source = (uint32_t)(search * 7919 + omp_get_thread_num() * 4099 + s * 511);
                frontier[size++] = source % VERTICES;
                __atomic_store_n(&levels[source % VERTICES], 0, __ATOMIC_RELAXED);
            }
            int more = 1;
            for (int level = 1; more; level++) {
#pragma omp barrier
                int found = expand(neighbours, levels, frontier, size, discovered, level);
                uint32_t* swapped = frontier;
                frontier = discovered;
                discovered = swapped;
                size = found;
#pragma omp barrier
#pragma omp single
                discoveries = 0;
#pragma omp atomic
                discoveries += found;
#pragma omp barrier
                more = discoveries > 0;
            }
#pragma omp for schedule(static) reduction(+ : total)
            for (int v = 0; v < VERTICES; v++) total += levels[v];
        }
        free(discovered);
        free(frontier);
    }
    printf("sum of levels %ld\n", total);
    free(levels);
    free(neighbours);
    return 0;
}
