// SPDX-License-Identifier: Apache-2.0
// THREADS threads write ITEMS doubles in contiguous parts that do not end at page boundaries, so
// neighbours share pages: part t is [t ITEMS / THREADS, (t + 1) ITEMS / THREADS).
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { MAX_ITEMS = 65536, MAX_THREADS = 64 };

double items[MAX_ITEMS] __attribute__((aligned(4096)));
static long item_count, threads;

static void* run(void* argument) {
    long t = (long)argument;
    long first = t * item_count / threads, end = (t + 1) * item_count / threads;
    write_strided(&items[first], end - first, 8);
    return NULL;
}

int main(int argc, char** argv) {
    item_count = argc > 2 ? atol(argv[1]) : 0;
    threads = argc > 2 ? atol(argv[2]) : 0;
    if (item_count < 1 || item_count > MAX_ITEMS || threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: %s ITEMS THREADS\n", argv[0]);
        return 2;
    }
    pthread_t handles[MAX_THREADS];
    for (long t = 0; t < threads; t++)
        if (pthread_create(&handles[t], NULL, run, (void*)t) != 0) return 1;
    for (long t = 0; t < threads; t++) pthread_join(handles[t], NULL);
    return 0;
}
