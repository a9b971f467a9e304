// SPDX-License-Identifier: Apache-2.0
// label: pixels = serial first touch
// Why: One thread reads the picture from a file, then all threads read it in static parts, in
// each of six passes. The pages can be touched in the same parts before the reading.
// action: pixels = local | spread
// harm: pixels = copy | parallelise the existing loop
// harm: bins = pad | spread | copy
// Labels of what needs no action, added after the first look:
// label: bins = partitioned
// action: bins = none
// Histograms of 16-bit pictures: private histograms, merged by ranges of bins.
//   usage: hist_private [pixels] [passes]
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINS 65536

static FILE* make_picture(size_t count) {
    FILE* file = tmpfile();
    uint16_t row[4096];
    uint32_t random = 12345;
    for (size_t done = 0; file && done < count; done += 4096) {
        for (int i = 0; i < 4096; i++) {
            random = random * 1103515245u + 12345u;
            row[i] = (uint16_t)((random >> 16 & 0x7fff) + (done >> 7) % 16384);
        }
        if (fwrite(row, sizeof row, 1, file) != 1) exit(1);
    }
    if (file) rewind(file);
    return file;
}

int main(int argc, char** argv) {
    size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 4u << 20;
    int passes = argc > 2 ? atoi(argv[2]) : 6;
    count = (count + 4095) / 4096 * 4096;
    FILE* file = make_picture(count);
    uint16_t* pixels = malloc(count * sizeof *pixels);
    if (!file || !pixels || fread(pixels, sizeof *pixels, count, file) != count) return 1;
    fclose(file);
    int threads = omp_get_max_threads();
    uint32_t* bins = aligned_alloc(4096, sizeof(uint32_t) * BINS * threads);
    uint64_t* merged = malloc(sizeof(uint64_t) * BINS);
    if (!bins || !merged) return 1;
    double entropy = 0;
    for (int pass = 0; pass < passes; pass++) {
        int shift = pass;
#pragma omp parallel
        {
            uint32_t* mine = bins + (size_t)omp_get_thread_num() * BINS;
            memset(mine, 0, sizeof(uint32_t) * BINS);
#pragma omp for schedule(static)
            for (size_t i = 0; i < count; i++) mine[(uint16_t)(pixels[i] >> shift)]++;
#pragma omp for schedule(static)
            for (int b = 0; b < BINS; b++) {
                uint64_t sum = 0;
                for (int t = 0; t < threads; t++) sum += bins[(size_t)t * BINS + b];
                merged[b] = sum;
            }
        }
        for (int b = 0; b < BINS; b++)
            if (merged[b]) {
                double p = (double)merged[b] / count;
                entropy -= p * log2(p);
            }
    }
    printf("entropy %.6f\n", entropy);
    free(pixels);
    free(bins);
    free(merged);
    return 0;
}
