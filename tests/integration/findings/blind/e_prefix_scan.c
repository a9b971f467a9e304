// SPDX-License-Identifier: Apache-2.0
// Prefix sums in two passes: every thread adds up its block, one thread scans the few block sums,
// and every thread writes the running sums of its block. Blocks are computed from the thread
// number, and the same blocks are used when the lengths are generated. So each page has one user,
// who touched it first. The array of block sums has one number per thread, written once per scan.
// label: run = no NUMA problem
// action: run = none
// label: lengths = partitioned
// label: offsets = partitioned
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTHS = 3 << 20, SCANS = 12, MOST_THREADS = 256 };

struct block {
    size_t from, to;
};

static struct block block_of(int thread, int threads) {
    size_t pages = (size_t)LENGTHS / 1024;
    struct block block = {pages * thread / threads * 1024, pages * (thread + 1) / threads * 1024};
    return block;
}

int main(void) {
    uint32_t* lengths = aligned_alloc(4096, sizeof(uint32_t) * LENGTHS);
    uint64_t* offsets = aligned_alloc(4096, sizeof(uint64_t) * LENGTHS);
    if (!lengths || !offsets) return 1;
    static uint64_t block_sums[MOST_THREADS + 1];
    uint64_t check = 0;
#pragma omp parallel num_threads(omp_get_max_threads() < MOST_THREADS ? omp_get_max_threads() \
                                                                      : MOST_THREADS)
    {
        int thread = omp_get_thread_num();
        int threads = omp_get_num_threads();
        struct block mine = block_of(thread, threads);
        for (size_t i = mine.from; i < mine.to; i++) {
            lengths[i] = (uint32_t)(i * 2654435761u) >> 20;
            offsets[i] = 0;
        }
        for (int scan = 0; scan < SCANS; scan++) {
            uint64_t sum = 0;
            for (size_t i = mine.from; i < mine.to; i++) sum += lengths[i];
            block_sums[thread + 1] = sum;
#pragma omp barrier
#pragma omp single
            for (int t = 0; t < threads; t++) block_sums[t + 1] += block_sums[t];
            uint64_t running = block_sums[thread];
            for (size_t i = mine.from; i < mine.to; i++) {
                offsets[i] = running;
                running += lengths[i];
                lengths[i] = (lengths[i] * 5 + 3) & 4095;
            }
#pragma omp barrier
        }
#pragma omp atomic
        check += offsets[mine.to - 1];
#pragma omp barrier
#pragma omp single
        check = offsets[LENGTHS - 1];
    }
    printf("last offset %llu\n", (unsigned long long)check);
    free(offsets);
    free(lengths);
    return 0;
}
