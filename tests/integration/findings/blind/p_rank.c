// SPDX-License-Identifier: Apache-2.0
// Main fills the graph. Equal parts of the vertices have very unequal numbers of edges.
// label: run = load imbalance
// action: run = balance
// label: g.src = serial first touch
// action: g.src = local | spread
// harm: g.src = copy
// label: contrib = shared, read-mostly | partitioned | shared, written | cache-resident
// action: contrib = spread | copy | none
// minor: rank = partitioned
// action: rank = none
// harm: rank = spread
// minor: g.off = serial first touch | cache-resident
// action: g.off = local
// minor: g.outdeg = serial first touch | cache-resident
// action: g.outdeg = local
// minor: from = partitioned
// action: from = none | local
// minor: to = partitioned
// action: to = none | local
// minor: pos = partitioned
// action: pos = none | local
/* PageRank by power iteration (pull version) on a synthetic web graph. */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N 200000u
#define M 3000000u
#define ITERS 80
#define DAMPING 0.85

typedef struct {
    uint32_t n;
    uint32_t* off; /* in-edges of v: src[off[v]] .. src[off[v + 1] - 1] */
    uint32_t* src;
    uint32_t* outdeg;
} graph_t;

static uint64_t seed = 0x9E3779B97F4A7C15ull;

static double uniform(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static void* alloc(size_t n, size_t size) {
    void* p = calloc(n, size);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

/* Older pages have more links pointing at them. */
static void make_graph(graph_t* g) {
    uint32_t* from = alloc(M, sizeof *from);
    uint32_t* to = alloc(M, sizeof *to);
    for (uint32_t e = 0; e < M; e++) {
        double u = uniform();
        from[e] = (uint32_t)(uniform() * N);
        to[e] = (uint32_t)(u * u * u * N);
    }

    g->n = N;
    g->off = alloc(N + 1, sizeof(uint32_t));
    g->src = alloc(M, sizeof(uint32_t));
    g->outdeg = alloc(N, sizeof(uint32_t));
    for (uint32_t e = 0; e < M; e++) {
        g->off[to[e] + 1]++;
        g->outdeg[from[e]]++;
    }
    for (uint32_t v = 0; v < N; v++) g->off[v + 1] += g->off[v];
    uint32_t* pos = alloc(N, sizeof *pos);
    for (uint32_t e = 0; e < M; e++) g->src[g->off[to[e]] + pos[to[e]]++] = from[e];
    free(pos);
    free(from);
    free(to);
}

static double iterate(const graph_t* g, double* rank, double* contrib) {
    double dangling = 0, delta = 0;

#pragma omp parallel for schedule(static) reduction(+ : dangling)
    for (uint32_t v = 0; v < g->n; v++) {
        if (g->outdeg[v])
            contrib[v] = rank[v] / g->outdeg[v];
        else {
            contrib[v] = 0;
            dangling += rank[v];
        }
    }

    double base = (1 - DAMPING) / g->n + DAMPING * dangling / g->n;
#pragma omp parallel for schedule(static) reduction(+ : delta)
    for (uint32_t v = 0; v < g->n; v++) {
        double s = 0;
        for (uint32_t e = g->off[v]; e < g->off[v + 1]; e++) s += contrib[g->src[e]];
        double r = base + DAMPING * s;
        delta += fabs(r - rank[v]);
        rank[v] = r;
    }
    return delta;
}

int main(int argc, char** argv) {
    int nt = argc > 1 ? atoi(argv[1]) : 4;
    omp_set_num_threads(nt);

    graph_t g;
    make_graph(&g);

    double* rank = malloc(N * sizeof *rank);
    double* contrib = malloc(N * sizeof *contrib);
    if (!rank || !contrib) return 1;
#pragma omp parallel for schedule(static)
    for (uint32_t v = 0; v < N; v++) {
        rank[v] = 1.0 / N;
        contrib[v] = 0;
    }

    double t0 = omp_get_wtime(), delta = 1;
    int it = 0;
    while (it < ITERS && delta > 1e-18) {
        delta = iterate(&g, rank, contrib);
        it++;
    }
    double t1 = omp_get_wtime();

    double check = 0;
    for (uint32_t v = 0; v < N; v += 97) check += rank[v] * (v % 13 + 1);
    printf("rank: %d iterations in %.3f s, delta %.3e, checksum %.9f\n", it, t1 - t0, delta, check);
    free(g.off);
    free(g.src);
    free(g.outdeg);
    free(rank);
    free(contrib);
    return 0;
}
