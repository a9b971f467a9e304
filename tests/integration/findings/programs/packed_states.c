// SPDX-License-Identifier: Apache-2.0
// Each thread counts heads of a coin in its own state of 16 bytes. Four states are in one cache
// line.
// label: states = false sharing of cache lines
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, THROWS = 400000 };

struct state {
    uint64_t random, heads;
};

__attribute__((noinline)) static void throw_coin(struct state* state) {
    state->random ^= state->random << 13;
    state->random ^= state->random >> 7;
    state->random ^= state->random << 17;
    state->heads += state->random & 1;
}

static void* play(void* argument) {
    for (int i = 0; i < THROWS; ++i) {
        throw_coin(argument);
    }
    return NULL;
}

int main(void) {
    struct state* states = aligned_alloc(64, THREADS * sizeof *states);
    pthread_t thread[THREADS];
    uint64_t heads = 0;
    for (int t = 0; t < THREADS; ++t) {
        states[t].random = 88172645463325252u + (uint64_t)t;
        states[t].heads = 0;
        pthread_create(&thread[t], NULL, play, &states[t]);
    }
    for (int t = 0; t < THREADS; ++t) {
        pthread_join(thread[t], NULL);
        heads += states[t].heads;
    }
    printf("%d\n", heads > 0);
    free(states);
}
