// SPDX-License-Identifier: Apache-2.0
// Packets of 128 bytes in one large ring with a part per queue. Thread t receives queue t: it
// writes the packets first. The packets of queue t are then handled by another thread, so that
// thread t works on queue t + 1, ten rounds long. Each part has one user, but it is not the one
// that touched it first. The flow table of a thread is its own: allocated, cleared and used there.
// The counters of the threads are side by side in one array, 16 bytes each, and change with every
// packet.
// label: packets = remote first touch
// action: packets = local
// label: counters = false sharing of cache lines
// action: counters = pad
// label: flows = partitioned
// action: flows = none
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 32, PER_QUEUE = 1 << 15, FLOWS = 1 << 16, ROUNDS = 10, MOST_THREADS = 64 };

struct packet {
    uint32_t word[WORDS];
};

struct counter {
    uint64_t bytes;
    uint64_t handled;
};

static struct packet* packets;
static struct counter* counters;
static pthread_barrier_t received;
static int threads = 4;

static void receive(struct packet* queue, uint32_t seed) {
    for (int p = 0; p < PER_QUEUE; p++) {
        for (int w = 0; w < WORDS; w++) {
            seed = seed * 1664525u + 1013904223u;
            queue[p].word[w] = seed;
        }
        queue[p].word[1] = 64;
    }
}

static void handle(struct packet* queue, uint64_t* flows, struct counter* counter) {
    for (int p = 0; p < PER_QUEUE; p++) {
        struct packet* packet = &queue[p];
        uint32_t sum = 0;
        for (int w = 0; w < WORDS; w++) sum += packet->word[w] ^ (sum >> 7);
        packet->word[1]--;
        flows[(packet->word[0] >> 8) % FLOWS] += sum & 0xff;
        // Another thread prints statistics in the real program, therefore atomic.
        __atomic_store_n(&counter->bytes, counter->bytes + sizeof *packet, __ATOMIC_RELAXED);
        __atomic_store_n(&counter->handled, counter->handled + 1, __ATOMIC_RELAXED);
    }
}

static void* run_core(void* argument) {
    int id = (int)(intptr_t)argument;
    receive(packets + (size_t)id * PER_QUEUE, (uint32_t)id * 77777u + 1);
    uint64_t* flows = malloc(sizeof *flows * FLOWS);
    if (!flows) exit(1);
    for (int f = 0; f < FLOWS; f++) flows[f] = 0;
    pthread_barrier_wait(&received);
    struct packet* queue = packets + (size_t)((id + 1) % threads) * PER_QUEUE;
    for (int round = 0; round < ROUNDS; round++) handle(queue, flows, &counters[id]);
    uint64_t busiest = 0;
    for (int f = 0; f < FLOWS; f++) busiest = flows[f] > busiest ? flows[f] : busiest;
    free(flows);
    return (void*)(uintptr_t)busiest;
}

int main(int argc, char** argv) {
    if (argc > 1) threads = atoi(argv[1]);
    if (threads < 1 || threads > MOST_THREADS) return 2;
    packets = aligned_alloc(4096, sizeof *packets * PER_QUEUE * (size_t)threads);
    counters = calloc((size_t)threads, sizeof *counters);
    if (!packets || !counters) return 1;
    pthread_barrier_init(&received, NULL, (unsigned)threads);
    pthread_t cores[MOST_THREADS];
    for (int t = 0; t < threads; t++) pthread_create(&cores[t], NULL, run_core, (void*)(intptr_t)t);
    uint64_t busiest = 0;
    uint64_t handled = 0;
    for (int t = 0; t < threads; t++) {
        void* result;
        pthread_join(cores[t], &result);
        busiest = (uintptr_t)result > busiest ? (uintptr_t)result : busiest;
        handled += counters[t].handled;
    }
    printf("handled %llu, busiest flow %llu\n", (unsigned long long)handled,
           (unsigned long long)busiest);
    free(counters);
    free(packets);
    return 0;
}
