// SPDX-License-Identifier: Apache-2.0
// Main builds the graph. Any thread reads the edges of any vertex and sets any level, which is
// spread already. Frontiers are appended by all threads and dealt out by time: no action.
// label: g.adj = shared, read-mostly
// action: g.adj = copy or spread
// harm: g.adj = divide
// label: g.off = shared, read-mostly
// action: g.off = copy or spread
// harm: g.off = divide
// label: level = shared, written
// action: level = none
// harm: level = copy | divide
// label: src = partitioned
// label: dst = partitioned
// harm: fa = divide
// harm: fb = divide
/* Level-synchronous breadth first search on a random power-law-ish graph.
 *   usage: bfs [vertices] [threads]
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t vid;

struct graph {
    vid n;
    uint64_t m;
    uint64_t* off;
    vid* adj;
};

static uint64_t rng = 0x853C49E6748FEA9Bull;

static inline uint64_t next(void) {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}

/* skewed towards small numbers */
static inline vid pick(vid n) {
    uint64_t r = next();
    double u = (double)(r >> 11) * 0x1.0p-53;
    return (vid)(u * u * n);
}

static vid scatter(vid v, vid n) {
    return (vid)(((uint64_t)v * 2654435761u + 12345u) % n);
}

static void* need(void* p) {
    if (!p) {
        perror("alloc");
        exit(1);
    }
    return p;
}

static void generate(struct graph* g, vid n, int degree) {
    uint64_t ne = (uint64_t)n * degree / 2;
    vid* src = need(malloc(ne * sizeof(vid)));
    vid* dst = need(malloc(ne * sizeof(vid)));
    g->n = n;
    g->m = 2 * ne;
    g->off = need(calloc((size_t)n + 2, sizeof(uint64_t)));
    for (uint64_t e = 0; e < ne; e++) {
        src[e] = scatter(pick(n), n);
        dst[e] = (vid)(next() % n);
        g->off[src[e] + 2]++;
        g->off[dst[e] + 2]++;
    }
    for (vid v = 0; v < n; v++) g->off[v + 2] += g->off[v + 1];
    g->adj = need(malloc(g->m * sizeof(vid)));
    for (uint64_t e = 0; e < ne; e++) {
        g->adj[g->off[src[e] + 1]++] = dst[e];
        g->adj[g->off[dst[e] + 1]++] = src[e];
    }
    free(src);
    free(dst);
}

/* returns the number of vertices reached; sum of levels goes to *depthsum */
static vid bfs(const struct graph* g, vid root, int* level, vid* frontier, vid* next_frontier,
               uint64_t* depthsum) {
#pragma omp parallel for schedule(static)
    for (vid v = 0; v < g->n; v++) level[v] = -1;

    level[root] = 0;
    frontier[0] = root;
    vid fsize = 1, reached = 1;
    int depth = 0;
    uint64_t ds = 0;
    while (fsize) {
        vid nsize = 0;
        depth++;
#pragma omp parallel
        {
            vid local[512];
            int nl = 0;
#pragma omp for schedule(dynamic, 64)
            for (vid i = 0; i < fsize; i++) {
                vid u = frontier[i];
                for (uint64_t e = g->off[u]; e < g->off[u + 1]; e++) {
                    vid w = g->adj[e];
                    int expect = -1;
                    if (__atomic_load_n(&level[w], __ATOMIC_RELAXED) != -1) continue;
                    if (!__atomic_compare_exchange_n(&level[w], &expect, depth, 0, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED))
                        continue;
                    local[nl++] = w;
                    if (nl == 512) {
                        vid at = __atomic_fetch_add(&nsize, (vid)nl, __ATOMIC_RELAXED);
                        memcpy(next_frontier + at, local, sizeof local);
                        nl = 0;
                    }
                }
            }
            if (nl) {
                vid at = __atomic_fetch_add(&nsize, (vid)nl, __ATOMIC_RELAXED);
                memcpy(next_frontier + at, local, (size_t)nl * sizeof(vid));
            }
        }
        vid* t = frontier;
        frontier = next_frontier;
        next_frontier = t;
        fsize = nsize;
        reached += nsize;
        ds += (uint64_t)nsize * (uint64_t)depth;
    }
    *depthsum = ds;
    return reached;
}

int main(int argc, char** argv) {
    vid n = argc > 1 ? (vid)strtoul(argv[1], NULL, 10) : 400000;
    int nt = argc > 2 ? atoi(argv[2]) : 4;
    omp_set_num_threads(nt);

    struct graph g;
    generate(&g, n, 12);

    int* level = need(malloc((size_t)n * sizeof *level));
    vid* fa = need(malloc((size_t)n * sizeof *fa));
    vid* fb = need(malloc((size_t)n * sizeof *fb));

    uint64_t reached = 0, sum = 0;
    for (int s = 0; s < 4; s++) {
        uint64_t ds;
        reached += bfs(&g, (vid)(((uint64_t)n * s) / 4 + 3) % n, level, fa, fb, &ds);
        sum += ds;
    }
    printf("checksum %llu reached %llu edges %llu\n", (unsigned long long)sum,
           (unsigned long long)reached, (unsigned long long)g.m);
    free(level);
    free(fa);
    free(fb);
    free(g.off);
    free(g.adj);
    return 0;
}
