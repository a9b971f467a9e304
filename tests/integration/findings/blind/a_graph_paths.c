// SPDX-License-Identifier: Apache-2.0
// Counts the shortest paths from several sources in a random graph in which every vertex has 32
// neighbours (breadth first, level by level, as in Brandes' betweenness). Main draws the graph. The
// threads divide each frontier, whose vertices have any number, so every thread reads neighbour
// lists and vertices everywhere, and writes distances and path counts of any vertex.
// label: targets = shared, read-mostly
// action: targets = copy or spread
// label: vertices = shared, written
// action: vertices = spread
#include <stdio.h>
#include <stdlib.h>

enum { VERTICES = 1 << 17, DEGREE = 32, SEARCHES = 8 };

struct vertex {
    int distance;
    int reached_from;
    double paths;
};

static struct vertex* vertices;
static int* targets;

// Adds a vertex to the next frontier if this thread is the first that reaches it.
static void visit(int from, int to, int depth, int* next, int* next_count) {
    int seen = __atomic_load_n(&vertices[to].distance, __ATOMIC_RELAXED);
    if (seen < 0) {
        int expected = -1;
        if (__atomic_compare_exchange_n(&vertices[to].distance, &expected, depth, 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            next[__atomic_fetch_add(next_count, 1, __ATOMIC_RELAXED)] = to;
            vertices[to].reached_from = from;
        }
        seen = depth;
    }
    if (seen == depth) {
#pragma omp atomic
        vertices[to].paths += vertices[from].paths;
    }
}

static double search(int source, int* frontier, int* next) {
#pragma omp parallel for schedule(static)
    for (int v = 0; v < VERTICES; v++) {
        vertices[v].distance = -1;
        vertices[v].paths = 0;
    }
    vertices[source].distance = 0;
    vertices[source].paths = 1;
    frontier[0] = source;
    int count = 1, farthest = source;
    for (int depth = 1; count > 0; depth++) {
        int next_count = 0;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < count; i++) {
            int v = frontier[i];
            for (int e = 0; e < DEGREE; e++) {
                visit(v, targets[(size_t)v * DEGREE + e], depth, next, &next_count);
            }
        }
        farthest = frontier[0];
        int* swap = frontier;
        frontier = next;
        next = swap;
        count = next_count;
    }
    double total = 0;
    for (int v = 0; v < VERTICES; v += 64) total += vertices[v].paths;
    return total + vertices[farthest].distance;
}

int main(void) {
    vertices = malloc(VERTICES * sizeof *vertices);
    targets = malloc((size_t)VERTICES * DEGREE * sizeof *targets);
    int* frontier = malloc(VERTICES * sizeof *frontier);
    int* next = malloc(VERTICES * sizeof *next);
    unsigned state = 7;
    for (size_t e = 0; e < (size_t)VERTICES * DEGREE; e++) {
        state = state * 1664525U + 1013904223U;
        targets[e] = (int)(state >> 8) & (VERTICES - 1);
    }
    double total = 0;
    for (int s = 0; s < SEARCHES; s++) total += search((s * 9973 + 5) % VERTICES, frontier, next);
    printf("paths %.0f\n", total);
    free(next);
    free(frontier);
    free(targets);
    free(vertices);
    return 0;
}
