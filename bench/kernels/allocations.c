// SPDX-License-Identifier: Apache-2.0
// allocations BYTES CALLS BLOCKS: prints the CPU time in ns of one malloc and its free, the
// shortest of nine passes. BLOCKS blocks are held at a time. `block` is the name that a plan may
// give.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PASSES = 9, MOST_BLOCKS = 4096 };

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static void* volatile held[MOST_BLOCKS];

static double pass(size_t bytes, long calls, long blocks) {
    const double start = cpu_ns();
    for (long call = 0; call < calls; call++) {
        const long at = call % blocks;
        free(held[at]);
        void* block = malloc(bytes);
        held[at] = block;
    }
    return (cpu_ns() - start) / calls;
}

int main(int count, char** words) {
    if (count != 4) return 2;
    const size_t bytes = strtoul(words[1], NULL, 10);
    const long calls = strtol(words[2], NULL, 10), blocks = strtol(words[3], NULL, 10);
    if (calls < 1 || blocks < 1 || blocks > MOST_BLOCKS) return 2;
    double best = pass(bytes, calls, blocks);
    for (int i = 1; i < PASSES; i++) {
        const double time = pass(bytes, calls, blocks);
        best = time < best ? time : best;
    }
    printf("%.3f\n", best);
    return 0;
}
