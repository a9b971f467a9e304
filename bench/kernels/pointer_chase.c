// SPDX-License-Identifier: Apache-2.0
// Follows one random cycle through cache lines: a load depends on the one before, and almost every
// one misses. Usage: pointer_chase [NODES [LAPS]]
#include <stdint.h>

#include "size.h"

struct node {
    struct node* next;
    char rest_of_line[56];
};

static uint64_t state = 88172645463325252ULL;

static uint64_t next_random(void) {  // xorshift64 (G. Marsaglia, 2003)
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

int main(int argc, char** argv) {
    long nodes = size_argument(argc, argv, 1, 1L << 18);
    long laps = size_argument(argc, argv, 2, 40);
    struct node* ring = aligned_alloc(64, (size_t)nodes * sizeof *ring);
    if (!ring) return 1;
    for (long i = 0; i < nodes; i++) ring[i].next = &ring[i];
    for (long i = nodes - 1; i > 0; i--) {  // S. Sattolo, 1986: a permutation of one cycle
        long j = (long)(next_random() % (uint64_t)i);
        struct node* swapped = ring[i].next;
        ring[i].next = ring[j].next;
        ring[j].next = swapped;
    }

    struct node* at = ring;
    long returns = 0;
    for (long step = 0; step < nodes * laps; step++) {
        at = at->next;
        returns += at == ring;
    }
    printf("pointer_chase: %ld nodes, %ld laps, %ld returns\n", nodes, laps, returns);
    return returns == laps ? 0 : 1;
}
