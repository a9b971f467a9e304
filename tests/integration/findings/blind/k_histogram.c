// SPDX-License-Identifier: Apache-2.0
// Histograms of 16-bit fields of a long series of samples. The main thread fills the series (in
// place of reading it); in each round, each thread counts its own range of it into its own
// histogram of 256 KiB, which stays in its cache. The histograms come from one calloc, so each
// thread touches its own first. They are added up by ranges of bins, once in a round.
// label: samples = serial first touch
// action: samples = local
// harm: samples = copy
// label: bins = cache-resident
// action: bins = none
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 12000000, BINS = 1 << 16, ROUNDS = 17 };

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    omp_set_num_threads(threads);
    uint32_t* samples = malloc(sizeof *samples * SAMPLES);
    uint32_t* bins = calloc((size_t)threads * BINS, sizeof *bins);
    uint32_t* total = calloc(BINS, sizeof *total);
    if (!samples || !bins || !total) return 1;
    uint32_t state = 1;
    for (size_t i = 0; i < SAMPLES; i++) {
        state = state * 1664525u + 1013904223u;
        samples[i] = state ^ (state >> 11);
    }
    for (int round = 0; round < ROUNDS; round++) {
        int shift = round;
#pragma omp parallel
        {
            uint32_t* mine = bins + (size_t)omp_get_thread_num() * BINS;
            memset(mine, 0, BINS * sizeof *mine);
#pragma omp for schedule(static)
            for (size_t i = 0; i < SAMPLES; i++) mine[(samples[i] >> shift) & (BINS - 1)]++;
#pragma omp for schedule(static)
            for (int b = 0; b < BINS; b++) {
                uint32_t sum = 0;
                for (int t = 0; t < threads; t++) sum += bins[(size_t)t * BINS + (size_t)b];
                total[b] = sum;
            }
        }
        uint64_t squares = 0;
        for (int b = 0; b < BINS; b++) squares += (uint64_t)total[b] * total[b];
        printf("bits %d to %d: %lu\n", shift, shift + 15, squares);
    }
    free(samples), free(bins), free(total);
    return 0;
}
