// SPDX-License-Identifier: Apache-2.0
//
// Two parallel regions whose lines access an array; `line: NAME` marks them.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 65536, ROUNDS = 20 };

int main(void) {
    uint64_t* shared = aligned_alloc(4096, WORDS * sizeof *shared);
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < WORDS; ++i) {
        shared[i] = 1;  // line: first
        __asm__ volatile("" ::: "memory");
    }
    for (int round = 0; round < ROUNDS; ++round) {
#pragma omp parallel for num_threads(4)
        for (int i = 0; i < WORDS; ++i) {
            shared[i] += 2;  // line: again
            __asm__ volatile("" ::: "memory");
        }
    }
    printf("%llu\n", (unsigned long long)shared[7]);
    return 0;
}
