// SPDX-License-Identifier: Apache-2.0
// Decoding with a transformer's key and value cache. The cache is ordered by token: the 16 heads of
// one token, 64 floats each, are exactly one page. Heads are divided among the threads, for the
// prefill as well as for each decoded token. No number is ever used by two threads, but every page
// holds parts of all of them: 1 KiB per thread with 4 threads. The caches should be ordered by
// head. Query, result and softmax state of a head are in the stack of its thread.
// label: keys = page-level false sharing
// action: keys = divide
// harm: keys = local
// label: values = page-level false sharing
// action: values = divide
// harm: values = local
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 16, DIM = 64, PROMPT = 2048, DECODED = 20, TOKENS = PROMPT + DECODED };

static float number(unsigned seed) {
    seed = seed * 747796405u + 2891336453u;
    seed = ((seed >> ((seed >> 28) + 4)) ^ seed) * 277803737u;
    return (float)((seed >> 22) ^ seed) * 0x1p-32f - 0.5f;
}

static void append(float* keys, float* values, int token, int head) {
    size_t at = ((size_t)token * HEADS + head) * DIM;
    for (int d = 0; d < DIM; d++) {
        keys[at + d] = number((unsigned)(2 * (at + d)));
        values[at + d] = number((unsigned)(2 * (at + d) + 1));
    }
}

static float attend(const float* keys, const float* values, int tokens, int head, int step) {
    float query[DIM];
    float result[DIM] = {0};
    for (int d = 0; d < DIM; d++) query[d] = number((unsigned)(step * 8191 + head * 127 + d));
    float highest = -1e30f;
    float total = 0;
    for (int t = 0; t < tokens; t++) {
        const float* key = keys + ((size_t)t * HEADS + head) * DIM;
        float score = 0;
        for (int d = 0; d < DIM; d++) score += query[d] * key[d];
        if (score > highest) {
            float scale = expf(highest - score);
            for (int d = 0; d < DIM; d++) result[d] *= scale;
            total *= scale;
            highest = score;
        }
        float weight = expf(score - highest);
        total += weight;
        const float* value = values + ((size_t)t * HEADS + head) * DIM;
        for (int d = 0; d < DIM; d++) result[d] += weight * value[d];
    }
    float norm = 0;
    for (int d = 0; d < DIM; d++) norm += result[d] * result[d];
    return sqrtf(norm) / total;
}

int main(void) {
    float* keys = aligned_alloc(4096, sizeof(float) * TOKENS * HEADS * DIM);
    float* values = aligned_alloc(4096, sizeof(float) * TOKENS * HEADS * DIM);
    if (!keys || !values) return 1;
#pragma omp parallel for schedule(static)
    for (int h = 0; h < HEADS; h++) {
        for (int t = 0; t < PROMPT; t++) append(keys, values, t, h);
    }
    double sum = 0;
    for (int step = 0; step < DECODED; step++) {
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (int h = 0; h < HEADS; h++) {
            append(keys, values, PROMPT + step, h);
            sum += attend(keys, values, PROMPT + step + 1, h, step);
        }
    }
    printf("sum of norms %.5f\n", sum);
    free(values);
    free(keys);
    return 0;
}
