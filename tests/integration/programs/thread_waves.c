// SPDX-License-Identifier: Apache-2.0
// THREADS threads, AT_ONCE at a time: these are joined before the next ones begin. Thread t writes
// t % 61 + 1 times on page t % PAGES of `own`, and reads once from the page `shared`.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { PAGES = 512, MAX_AT_ONCE = 64 };

char own[(size_t)PAGES * PAGE] __attribute__((aligned(4096)));
char shared[PAGE] __attribute__((aligned(4096)));

static void* run(void* argument) {
    long t = (long)argument;
    write_strided(own + t % PAGES * PAGE, t % 61 + 1, 0);
    read_strided(shared, 1, 0);
    return NULL;
}

int main(int argc, char** argv) {
    long threads = argc > 2 ? atol(argv[1]) : 0;
    long at_once = argc > 2 ? atol(argv[2]) : 0;
    if (threads < 1 || at_once < 1 || at_once > MAX_AT_ONCE || threads % at_once != 0) {
        fprintf(stderr, "usage: %s THREADS AT_ONCE, at most %d at once\n", argv[0], MAX_AT_ONCE);
        return 2;
    }
    for (long first = 0; first < threads; first += at_once) {
        pthread_t handles[MAX_AT_ONCE];
        for (long i = 0; i < at_once; i++)
            if (pthread_create(&handles[i], NULL, run, (void*)(first + i)) != 0) {
                fprintf(stderr, "cannot start thread %ld\n", first + i);
                return 1;
            }
        for (long i = 0; i < at_once; i++) pthread_join(handles[i], NULL);
    }
    return 0;
}
