// SPDX-License-Identifier: Apache-2.0
// Histograms of samples for 512 slots of time. Each slot has a histogram of 1 KiB per thread, and
// those of the threads lie next to each other: four threads write to different parts of each page.
// The samples are generated in parallel, in small chunks dealt out in turn, but counted in
// contiguous parts, so that three of four pages were touched first by another thread.
// label: histograms = page-level false sharing
// action: histograms = divide | pad
// label: samples = remote first touch
// action: samples = local
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 1 << 20, SLOTS = 512, BUCKETS = 64, CHUNK = 4096, PASSES = 8 };

struct bucket {
    uint64_t count;
    uint64_t sum;
};

static void generate(uint64_t* samples) {
#pragma omp parallel for schedule(static, CHUNK)
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t mixed = ((uint64_t)i + 1) * 0x9E3779B97F4A7C15ULL;
        samples[i] = mixed ^ mixed >> 29;
    }
}

static void count(const uint64_t* samples, struct bucket* histograms, int threads, int shift) {
#pragma omp parallel num_threads(threads)
    {
        struct bucket* own = histograms + (size_t)omp_get_thread_num() * BUCKETS;
        size_t stride = (size_t)omp_get_num_threads() * BUCKETS;
#pragma omp for schedule(static)
        for (int i = 0; i < SAMPLES; i++) {
            uint64_t value = samples[i] >> shift;
            struct bucket* bucket = own + (value % SLOTS) * stride + value / SLOTS % BUCKETS;
            bucket->count++;
            bucket->sum += value & 0xFFFF;
        }
    }
}

int main(void) {
    int threads = omp_get_max_threads();
    uint64_t* samples = malloc(SAMPLES * sizeof *samples);
    struct bucket* histograms = calloc((size_t)SLOTS * threads * BUCKETS, sizeof *histograms);
    if (!samples || !histograms) return 1;
    generate(samples);
    for (int pass = 0; pass < PASSES; pass++) count(samples, histograms, threads, pass * 3);

    uint64_t counts = 0, sums = 0;
    for (size_t i = 0; i < (size_t)SLOTS * threads * BUCKETS; i++) {
        counts += histograms[i].count;
        sums += histograms[i].sum;
    }
    printf("%llu samples, sum %llu\n", (unsigned long long)counts, (unsigned long long)sums);
    free(samples);
    free(histograms);
    return 0;
}
