// SPDX-License-Identifier: Apache-2.0
// PageRank by pulling along a compressed graph, nodes in fixed parts. OpenMP.
// label: starts = serial first touch
// Why: main builds the graph alone; then each thread reads the nodes of its part.
// action: starts = local
// harm: starts = copy
// label: sources = serial first touch
// Why: as `starts`.
// action: sources = local
// harm: sources = copy
// label: out = serial first touch
// Why: main counts the edges, then each thread reads its part.
// action: out = local
// harm: out = copy
// label: given = shared, written
// Why: each thread writes its part in each round, and all read all of it in random order.
// action: given = spread
// harm: given = local
// label: rank = partitioned
// Why: first touched and used by the owner of each part.
// action: rank = none
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 1 << 18, DEGREE = 8, ROUNDS = 5 };

static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

int main(void) {
    uint32_t* starts = malloc(sizeof *starts * (NODES + 1));
    uint32_t* sources = malloc(sizeof *sources * NODES * DEGREE * 2);
    uint32_t* out = calloc(NODES, sizeof *out);
    double* rank = malloc(sizeof *rank * NODES);
    double* given = malloc(sizeof *given * NODES);
    if (!starts || !sources || !out || !rank || !given) return 1;
    uint32_t edges = 0;
    for (uint32_t node = 0; node < NODES; node++) {
        starts[node] = edges;
        uint32_t degree = 1 + (uint32_t)(next_random() % (2 * DEGREE - 1));
        for (uint32_t e = 0; e < degree; e++) {
            uint32_t source = (uint32_t)(next_random() % NODES);
            sources[edges++] = source;
            out[source]++;
        }
    }
    starts[NODES] = edges;
#pragma omp parallel for schedule(static)
    for (uint32_t node = 0; node < NODES; node++) {
        rank[node] = 1.0 / NODES;
        given[node] = 0;
    }
    double change = 0;
    for (int round = 0; round < ROUNDS; round++) {
        change = 0;
#pragma omp parallel reduction(+ : change)
        {
#pragma omp for schedule(static)
            for (uint32_t node = 0; node < NODES; node++)
                given[node] = out[node] ? rank[node] / out[node] : 0;
#pragma omp for schedule(static)
            for (uint32_t node = 0; node < NODES; node++) {
                double sum = 0;
                for (uint32_t e = starts[node]; e < starts[node + 1]; e++) sum += given[sources[e]];
                double fresh = 0.15 / NODES + 0.85 * sum;
                change += fabs(fresh - rank[node]);
                rank[node] = fresh;
            }
        }
    }
    printf("%u edges, last change %.3e\n", edges, change);
    free(starts);
    free(sources);
    free(out);
    free(rank);
    free(given);
    return change < 0.1 ? 0 : 1;
}
