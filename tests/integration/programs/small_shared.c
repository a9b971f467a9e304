// SPDX-License-Identifier: Apache-2.0
// Two threads write a large array, and rarely a small variable: each its element of `packed`, whose
// line both of them use, and one of them `alone`, which has a line of its own.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { WRITES = 400000, RARELY = 256, WORDS = 1 << 16 };

static volatile uint64_t large[2][WORDS];
static volatile uint64_t packed[8] __attribute__((aligned(64)));
static volatile uint64_t alone[8] __attribute__((aligned(64)));

static void* run(void* argument) {
    long thread = (long)argument;
    for (int i = 0; i < WRITES; i++) {
        large[thread][i % WORDS] = 1;
        if (i % RARELY == 0) packed[thread] = 1;
        if (i % RARELY == 1 && thread == 0) alone[0] = 1;
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, run, (void*)i) != 0) {
            fprintf(stderr, "cannot start a thread\n");
            return 1;
        }
    for (long i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
