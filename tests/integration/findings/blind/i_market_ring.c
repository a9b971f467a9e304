// SPDX-License-Identifier: Apache-2.0
// Names corrected after the first look: ring is the type of the two variables.
// label: decoded = producer and consumer
// label: enriched = producer and consumer
// Why: Each ring of 1 MB is written by the stage before it and read by the stage after it, again
// and again. Only the threads' nodes matter: the stages should run side by side.
// action: decoded = local | none | pad
// action: enriched = local | none | pad
// harm: decoded = spread | copy
// harm: enriched = spread | copy
// label: decoded = false sharing of cache lines | true sharing of cache lines
// label: enriched = false sharing of cache lines | true sharing of cache lines
// called: decoded = decoded.slot
// called: enriched = enriched.slot
// Why: head (the producer's) and tail (the consumer's) are neighbours in one line. Market data:
// decode, enrich, and aggregate, a thread each, with rings of one producer and one consumer.
// usage: market_ring [ticks]
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS 16384
struct tick {
    uint32_t symbol, flags;
    double bid, ask, middle, spread, average;
    uint64_t stamp, sequence;
};
struct ring {
    _Atomic uint64_t head, tail;
    struct tick slot[SLOTS];
};
static struct ring decoded, enriched;
static long ticks = 400000;
static double averages[512];

static struct tick* claim(struct ring* r) {
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    while (head - atomic_load_explicit(&r->tail, memory_order_acquire) == SLOTS) sched_yield();
    return &r->slot[head % SLOTS];
}
static void publish(struct ring* r) {
    atomic_fetch_add_explicit(&r->head, 1, memory_order_release);
}
static struct tick* front(struct ring* r) {
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    while (atomic_load_explicit(&r->head, memory_order_acquire) == tail) sched_yield();
    return &r->slot[tail % SLOTS];
}
static void drop(struct ring* r) {
    atomic_fetch_add_explicit(&r->tail, 1, memory_order_release);
}

static void* decode(void* unused) {
    uint64_t x = 88172645463325252ull;
    for (long i = 0; i < ticks; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        struct tick* t = claim(&decoded);
        t->symbol = x % 512;
        t->flags = x >> 60;
        t->bid = 100.0 + (double)(x >> 40 & 0xffff) / 1000;
        t->ask = t->bid + (double)(x >> 20 & 0xff) / 1000;
        t->stamp = i * 7;
        t->sequence = i;
        publish(&decoded);
    }
    return unused;
}
static void* enrich(void* unused) {
    for (long i = 0; i < ticks; i++) {
        struct tick *in = front(&decoded), *out = claim(&enriched);
        *out = *in;
        out->middle = 0.5 * (in->bid + in->ask);
        out->spread = in->ask - in->bid;
        averages[in->symbol] += 0.01 * (out->middle - averages[in->symbol]);
        out->average = averages[in->symbol];
        drop(&decoded);
        publish(&enriched);
    }
    return unused;
}
static void* aggregate(void* result) {
    static double sums[512], highs[512];
    for (long i = 0; i < ticks; i++) {
        struct tick* t = front(&enriched);
        sums[t->symbol] += t->spread;
        if (t->middle > highs[t->symbol]) highs[t->symbol] = t->middle;
        drop(&enriched);
    }
    double all = 0;
    for (int s = 0; s < 512; s++) all += sums[s] + highs[s];
    *(double*)result = all;
    return NULL;
}

int main(int argc, char** argv) {
    if (argc > 1) ticks = atol(argv[1]);
    double result = 0;
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, decode, NULL);
    pthread_create(&threads[1], NULL, enrich, NULL);
    pthread_create(&threads[2], NULL, aggregate, &result);
    for (int t = 0; t < 3; t++) pthread_join(threads[t], NULL);
    printf("sum %.6f\n", result);
    return 0;
}
