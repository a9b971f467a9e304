// SPDX-License-Identifier: Apache-2.0
// Site percolation: how often does an open cluster connect top and bottom of a random lattice? Each
// thread allocates and uses its own lattice and stack of sites. The states of the random number
// generators are 16 bytes per thread, side by side in one array: four threads share a line, and
// each number that is drawn takes the line from another thread. The states should be a line apart.
// label: streams = false sharing of cache lines
// action: streams = pad
// label: lattice = partitioned
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 512, SITES = SIDE * SIDE, LATTICES = 48, MOST_THREADS = 256 };

struct stream {
    uint64_t low, high;
};

struct worker {
    pthread_t thread;
    int first, threads, spanning;
    struct stream* stream;
};

static void seed(struct stream* stream, int lattice) {
    stream->low = 0x9e3779b97f4a7c15u * (uint64_t)(lattice + 1);
    stream->high = 0xbf58476d1ce4e5b9u ^ (uint64_t)lattice;
}

__attribute__((noinline)) static uint32_t draw(struct stream* stream) {
    uint64_t a = stream->low, b = stream->high;
    stream->low = b;
    a ^= a << 23;
    stream->high = a ^ b ^ (a >> 17) ^ (b >> 26);
    return (uint32_t)((stream->high + b) >> 32);
}

static int spans(uint8_t* open, int* stack) {
    int depth = 0;
    for (int x = 0; x < SIDE; x++) {
        if (open[x]) open[x] = 0, stack[depth++] = x;
    }
    int reached = 0;
    while (depth > 0) {
        int site = stack[--depth], x = site % SIDE;
        if (site >= SITES - SIDE) reached = 1;
        int near[4] = {x > 0 ? site - 1 : site, x < SIDE - 1 ? site + 1 : site,
                       site >= SIDE ? site - SIDE : site, site < SITES - SIDE ? site + SIDE : site};
        for (int n = 0; n < 4; n++) {
            if (open[near[n]]) open[near[n]] = 0, stack[depth++] = near[n];
        }
    }
    return reached;
}

static void* simulate(void* argument) {
    struct worker* self = argument;
    uint8_t* lattice = malloc(SITES);
    int* stack = malloc(sizeof(int) * SITES);
    if (!lattice || !stack) exit(1);
    int spanning = 0;
    for (int l = self->first; l < LATTICES; l += self->threads) {
        seed(self->stream, l);
        for (int s = 0; s < SITES; s++) lattice[s] = draw(self->stream) < 2547000000u;
        spanning += spans(lattice, stack);
    }
    self->spanning = spanning;
    free(stack);
    free(lattice);
    return NULL;
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    if (threads < 1 || threads > MOST_THREADS) return 2;
    struct stream* streams = aligned_alloc(64, (sizeof(struct stream) * threads + 63) / 64 * 64);
    if (!streams) return 1;
    static struct worker workers[MOST_THREADS];
    for (int t = 0; t < threads; t++) {
        workers[t].first = t;
        workers[t].threads = threads;
        workers[t].stream = &streams[t];
        if (pthread_create(&workers[t].thread, NULL, simulate, &workers[t])) return 1;
    }
    int spanning = 0;
    for (int t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        spanning += workers[t].spanning;
    }
    printf("%d of %d lattices span\n", spanning, LATTICES);
    free(streams);
    return 0;
}
