// SPDX-License-Identifier: Apache-2.0
// Evaluates four heads of a graph neural network layer: each vertex sums the features of its
// neighbours. The graph is loaded by the main thread into compressed rows, and the last quarter of
// the vertices has the most edges. The loop over vertices is divided evenly by number of vertices.
// Features are read through the neighbour list.
// label: targets = serial first touch
// action: targets = local
// label: features = shared, read-mostly
// action: features = copy or spread
// harm: features = divide
// label: run = load imbalance
// action: run = balance
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERTICES = 1 << 15, WIDTH = 8, HEADS = 4 };

static size_t* offsets;
static uint32_t* targets;
static float *features, *hidden;

static void load_graph(void) {
    size_t edges = 0;
    offsets = malloc((VERTICES + 1) * sizeof *offsets);
    if (!offsets) exit(1);
    for (size_t v = 0; v < VERTICES; v++) {
        offsets[v] = edges;
        edges += v >= VERTICES / 4 * 3 ? 312 : 64;
    }
    offsets[VERTICES] = edges;
    targets = malloc(edges * sizeof *targets);
    features = malloc(sizeof(float) * VERTICES * WIDTH);
    hidden = malloc(sizeof(float) * VERTICES * WIDTH);
    if (!targets || !features || !hidden) exit(1);
    uint32_t state = 362436069u;
    for (size_t e = 0; e < edges; e++) {
        state = state * 1664525u + 1013904223u;
        targets[e] = state >> 17;
    }
    for (size_t i = 0; i < (size_t)VERTICES * WIDTH; i++) features[i] = (float)(i % 101) * 0.01f;
}

static void aggregate(float scale) {
#pragma omp parallel for schedule(static)
    for (int v = 0; v < VERTICES; v++) {
        float a0 = 0, a1 = 0, a2 = 0, a3 = 0, a4 = 0, a5 = 0, a6 = 0, a7 = 0;
        for (size_t e = offsets[v]; e < offsets[v + 1]; e++) {
            const float* f = features + (size_t)targets[e] * WIDTH;
            a0 += f[0];
            a1 += f[1];
            a2 += f[2];
            a3 += f[3];
            a4 += f[4];
            a5 += f[5];
            a6 += f[6];
            a7 += f[7];
        }
        float* h = hidden + (size_t)v * WIDTH;
        h[0] = a0 * scale;
        h[1] = a1 * scale;
        h[2] = a2 * scale;
        h[3] = a3 * scale;
        h[4] = a4 * scale;
        h[5] = a5 * scale;
        h[6] = a6 * scale;
        h[7] = a7 * scale;
    }
}

int main(void) {
    double sum = 0;
    load_graph();
    for (int head = 0; head < HEADS; head++) {
        aggregate(0.01f * (float)(head + 1));
        for (size_t v = 0; v < VERTICES; v += 256) sum += (double)hidden[v * WIDTH + (size_t)head];
    }
    printf("sum of the sample: %.4f\n", sum);
    free(offsets);
    free(targets);
    free(features);
    free(hidden);
    return 0;
}
