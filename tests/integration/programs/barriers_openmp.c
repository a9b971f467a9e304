// SPDX-License-Identifier: Apache-2.0
// Small blocks are on a page with memory of OpenMP's runtime. The runtime's code accesses this page
// at each of 20000 barriers; the program writes each word of the blocks once.
#include <stdint.h>
#include <stdlib.h>

enum { BLOCKS = 16, WORDS = 16, BARRIERS = 20000 };

static volatile uint64_t* tiny[BLOCKS];

int main(void) {
    for (int i = 0; i < BLOCKS; i++) tiny[i] = malloc(WORDS * sizeof(uint64_t));
#pragma omp parallel num_threads(2)
    for (int i = 0; i < BARRIERS; i++) {
#pragma omp barrier
    }
    for (int i = 0; i < BLOCKS; i++)
        for (int word = 0; word < WORDS; word++) tiny[i][word] = 1;
    return 0;
}
