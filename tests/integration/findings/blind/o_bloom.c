// SPDX-License-Identifier: Apache-2.0
// All threads set random bits of a table that main cleared, and count in one line.
// label: filter = shared, written
// action: filter = spread | local
// harm: filter = copy
// label: stats = true sharing of cache lines
// label: stats = false sharing of cache lines
// action: stats = pad | divide
// label: clicks = serial first touch
// action: clicks = local | spread
// label: verdict = partitioned
// action: verdict = none
// harm: verdict = spread
/* bloom - removes duplicates from a stream of click ids with a shared Bloom filter.
 *   bloom [threads]
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTER_BITS (1ull << 27) /* 16 MiB */
#define NKEYS 1100000
#define NHASH 3

static struct {
    atomic_ulong unique; /* keys never seen before */
    atomic_ulong repeated;
    atomic_ulong done; /* for the progress display */
} stats;

static atomic_ulong* filter;
static uint64_t* clicks;
static uint8_t* verdict;
static int nthreads;

static inline uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x7fb5d329728ea185ull;
    x ^= x >> 27;
    x *= 0x81dadef4bc2dd44dull;
    return x ^ (x >> 33);
}

/* Sets the bits of the key; nonzero when one of them was clear. */
static int filter_add(uint64_t key) {
    uint64_t h = mix(key), step = mix(h) | 1;
    int fresh = 0;
    for (int k = 0; k < NHASH; k++) {
        uint64_t bit = h & (FILTER_BITS - 1), mask = 1ull << (bit & 63);
        atomic_ulong* w = &filter[bit >> 6];
        if (!(atomic_load_explicit(w, memory_order_relaxed) & mask))
            fresh |= !(atomic_fetch_or_explicit(w, mask, memory_order_relaxed) & mask);
        h += step;
    }
    return fresh;
}

static void* dedup(void* arg) {
    long me = (long)arg;
    long from = (long)NKEYS * me / nthreads, to = (long)NKEYS * (me + 1) / nthreads;

    for (long i = from; i < to; i++) {
        int fresh = filter_add(clicks[i]);
        verdict[i] = (uint8_t)fresh;
        if (fresh)
            atomic_fetch_add_explicit(&stats.unique, 1, memory_order_relaxed);
        else
            atomic_fetch_add_explicit(&stats.repeated, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&stats.done, 1, memory_order_relaxed);
    }
    return NULL;
}

static void read_clicks(void) {
    uint64_t s = 88172645463325252ull;
    for (long i = 0; i < NKEYS; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        /* a third of the traffic comes from a small set of noisy clients */
        clicks[i] = (s & 0xff) < 85 ? (s >> 40) % 50000 : s;
    }
}

int main(int argc, char** argv) {
    nthreads = argc > 1 ? atoi(argv[1]) : 4;

    filter = aligned_alloc(64, FILTER_BITS / 8);
    memset(filter, 0, FILTER_BITS / 8);
    clicks = malloc(NKEYS * sizeof *clicks);
    verdict = malloc(NKEYS);
    read_clicks();

    pthread_t* th = calloc(nthreads, sizeof *th);
    for (long t = 0; t < nthreads; t++)
        if (pthread_create(&th[t], NULL, dedup, (void*)t)) {
            perror("pthread_create");
            return 1;
        }
    for (int t = 0; t < nthreads; t++) pthread_join(th[t], NULL);

    uint64_t ones = 0;
    for (uint64_t w = 0; w < FILTER_BITS / 64; w++)
        ones += __builtin_popcountl(atomic_load_explicit(&filter[w], memory_order_relaxed));
    unsigned long sum = 0;
    for (long i = 0; i < NKEYS; i++) sum += verdict[i];
    printf("done %lu unique %s bits %lu (%.2f%% full) fp %.2e\n", atomic_load(&stats.done),
           sum == atomic_load(&stats.unique) ? "ok" : "MISMATCH", ones, 100.0 * ones / FILTER_BITS,
           (double)ones / FILTER_BITS * ones / FILTER_BITS * ones / FILTER_BITS);
    return 0;
}
