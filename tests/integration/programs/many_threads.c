// SPDX-License-Identifier: Apache-2.0
// THREADS threads, all alive at once. Thread t writes t + 1 times on its own page of `own`, reads
// once from the page `shared`, and its word of `boundary` has neighbours' words on the same page.
// Prints how many bytes the process has read from files.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { MAX_THREADS = 2048 };

char own[(size_t)MAX_THREADS * PAGE] __attribute__((aligned(4096)));
char shared[PAGE] __attribute__((aligned(4096)));
double boundary[MAX_THREADS] __attribute__((aligned(4096)));

static pthread_barrier_t everyone_started;

static void* run(void* argument) {
    long t = (long)argument;
    pthread_barrier_wait(&everyone_started);
    write_strided(own + t * PAGE, t + 1, 0);
    read_strided(shared, 1, 0);
    add_strided(&boundary[t], 3, 0);
    return NULL;
}

static int print_bytes_read(void) {
    long bytes = 0;
    FILE* file = fopen("/proc/self/io", "r");
    if (file == NULL || fscanf(file, "rchar: %ld", &bytes) != 1) return 1;
    fclose(file);
    printf("%ld\n", bytes);
    return 0;
}

int main(int argc, char** argv) {
    long threads = argc > 1 ? atol(argv[1]) : 0;
    if (threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: %s THREADS, at most %d\n", argv[0], MAX_THREADS);
        return 2;
    }
    pthread_t handles[MAX_THREADS];
    pthread_attr_t small_stack;
    pthread_attr_init(&small_stack);
    pthread_attr_setstacksize(&small_stack, 256 * 1024);
    pthread_barrier_init(&everyone_started, NULL, (unsigned)threads);
    for (long t = 0; t < threads; t++)
        if (pthread_create(&handles[t], &small_stack, run, (void*)t) != 0) {
            fprintf(stderr, "cannot start thread %ld\n", t);
            return 1;
        }
    for (long t = 0; t < threads; t++) pthread_join(handles[t], NULL);
    return print_bytes_read();
}
