// SPDX-License-Identifier: Apache-2.0
// Two functions call one that reads a table: nine of ten calls come from `often`.
// Usage: two_callers MILLISECONDS (of CPU time)
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 64 * 512 };

__attribute__((aligned(4096))) double table[WORDS];

__attribute__((noinline)) static double sum(const double* from, long words) {
    double all = 0;
    // The compiler must not call it once for all nine times.
    __asm__ volatile("" ::: "memory");
    for (long i = 0; i < words; i++) all += from[i];
    return all;
}

__attribute__((noinline)) static double often(void) {
    double all = 0;
    for (int i = 0; i < 9; i++) all += sum(table, WORDS);
    return all;
}

__attribute__((noinline)) static double seldom(void) {
    return 1 + sum(table, WORDS);
}

static long used_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

int main(int argc, char** argv) {
    const long limit = argc > 1 ? atol(argv[1]) : 100;
    double all = 0;
    for (int i = 0; i < WORDS; i++) table[i] = 1;
    while (used_ms() < limit) all += often() + seldom();
    puts(all > 0 ? "right" : "wrong");
    return 0;
}
