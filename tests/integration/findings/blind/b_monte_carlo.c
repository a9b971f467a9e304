// SPDX-License-Identifier: Apache-2.0
// Prices an option by simulation. The main thread fills a table of 32 KiB with increments; then all
// threads walk random paths and read the table at random. The table stays in each core's cache, and
// there is no other memory: the program is bound by computation.
// label: increments = cache-resident
// action: increments = none
// label: run = no NUMA problem
#include <stdint.h>
#include <stdio.h>

enum { ENTRIES = 1 << 13, PATHS = 40000, STEPS = 252 };

static int32_t increments[ENTRIES];

static void fill_increments(void) {
    // The sum of uniform numbers is nearly normal.
    uint32_t state = 7;
    for (int i = 0; i < ENTRIES; i++) {
        int32_t sum = 0;
        for (int k = 0; k < 12; k++) {
            state = state * 1664525U + 1013904223U;
            sum += (int32_t)(state >> 22) - 512;
        }
        increments[i] = sum / 8;
    }
}

static int64_t payoff_of(int path) {
    uint64_t state = (uint64_t)path * 0x9E3779B97F4A7C15ULL + 1;
    int64_t price = 1 << 20;
    for (int step = 0; step < STEPS; step++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        price += (price * increments[state % ENTRIES]) >> 16;
    }
    int64_t strike = 1 << 20;
    return price > strike ? price - strike : 0;
}

int main(void) {
    fill_increments();
    int64_t total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (int path = 0; path < PATHS; path++) total += payoff_of(path);
    printf("mean payoff %lld\n", (long long)(total / PATHS));
    return 0;
}
