// SPDX-License-Identifier: Apache-2.0
// A firewall looks up addresses in a Bloom filter of blocked ones. The filter has 32 KiB and is
// filled once, by main; every thread reads all of it, all the time, but it stays in the cache of
// each core. The addresses of a thread are in its own memory, which the thread allocates and fills.
// What looks like one shared, read-only structure with most of the accesses does not matter.
// label: run = no NUMA problem
// action: run = none
// label: addresses = partitioned
// label: filter = cache-resident
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 4096, BLOCKED = 20000, ADDRESSES = 1600000, ROUNDS = 16, MOST_THREADS = 256 };

static uint64_t filter[WORDS];

struct worker {
    pthread_t thread;
    size_t addresses;
    uint64_t seed;
    long passed;
};

static uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

static void insert(uint64_t address) {
    uint64_t hash = mix(address);
    for (int probe = 0; probe < 3; probe++) {
        uint64_t bit = hash % (WORDS * 64);
        filter[bit / 64] |= 1ull << (bit % 64);
        hash = hash >> 18 | hash << 46;
    }
}

static int contains(uint64_t address) {
    uint64_t hash = mix(address);
    for (int probe = 0; probe < 3; probe++) {
        uint64_t bit = hash % (WORDS * 64);
        if (!(filter[bit / 64] >> (bit % 64) & 1)) return 0;
        hash = hash >> 18 | hash << 46;
    }
    return 1;
}

static void* inspect(void* argument) {
    struct worker* self = argument;
    uint64_t* addresses = malloc(self->addresses * sizeof(uint64_t));
    if (!addresses) exit(1);
    for (size_t i = 0; i < self->addresses; i++) addresses[i] = mix(self->seed + i);
    long passed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < self->addresses; i++) {
            passed += !contains(addresses[i] + (uint64_t)round);
        }
    }
    self->passed = passed;
    free(addresses);
    return NULL;
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    if (threads < 1 || threads > MOST_THREADS) return 2;
    for (uint64_t a = 0; a < BLOCKED; a++) insert(mix(a * 977));
    static struct worker workers[MOST_THREADS];
    for (int t = 0; t < threads; t++) {
        workers[t].addresses = ADDRESSES / threads;
        workers[t].seed = (uint64_t)t * (ADDRESSES / threads);
        if (pthread_create(&workers[t].thread, NULL, inspect, &workers[t])) return 1;
    }
    long passed = 0;
    for (int t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        passed += workers[t].passed;
    }
    printf("%ld addresses passed\n", passed);
    return 0;
}
