// SPDX-License-Identifier: Apache-2.0
// SELECT SUM(amount * rate), COUNT(*) GROUP BY key, with one hash-ordered table of totals that all
// threads update with atomic adds, at random places: all threads write all its pages. The three
// columns are loaded and scanned by the same threads, each its own range of rows. The table of
// rates is a local array of main, so it is in main's stack, and each row reads one entry of it: all
// threads read all its pages, and only main wrote it, once.
// label: totals = shared, written
// action: totals = spread
// harm: totals = local
// label: rates = stack shared with other threads
// label: rates = shared, read-mostly
// action: rates = copy or spread
// label: group_keys = partitioned
// action: group_keys = none
// label: amounts = partitioned
// action: amounts = none
// label: days = partitioned
// action: days = none
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1 << 21, GROUPS = 1 << 17, DAYS = 1 << 15, QUERIES = 3, MOST_THREADS = 64 };

struct total {
    int64_t cents;
    int64_t count;
};

static uint32_t* group_keys;
static int32_t* amounts;
static uint16_t* days;
static struct total* totals;
static pthread_barrier_t barrier;
static int threads = 4;

struct scan {
    pthread_t thread;
    const double* rates;
    int id;
};

static void load(size_t from, size_t to) {
    for (size_t r = from; r < to; r++) {
        uint64_t h = (r + 1) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
        h *= 0xbf58476d1ce4e5b9u;
        group_keys[r] = (uint32_t)(h >> 40) % GROUPS;
        amounts[r] = (int32_t)(h & 0xffff);
        days[r] = (uint16_t)((h >> 17) % DAYS);
    }
}

static void* work(void* argument) {
    const struct scan* scan = argument;
    size_t from = (size_t)ROWS * scan->id / threads;
    size_t to = (size_t)ROWS * (scan->id + 1) / threads;
    load(from, to);
    pthread_barrier_wait(&barrier);
    for (int q = 0; q < QUERIES; q++) {
        for (size_t r = from; r < to; r++) {
            struct total* total = &totals[group_keys[r]];
            int64_t cents = (int64_t)(amounts[r] * scan->rates[days[r]]);
            __atomic_fetch_add(&total->cents, cents, __ATOMIC_RELAXED);
            __atomic_fetch_add(&total->count, 1, __ATOMIC_RELAXED);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char** argv) {
    if (argc > 1) threads = atoi(argv[1]);
    if (threads < 1 || threads > MOST_THREADS) return 2;
    double rates[DAYS];
    for (int d = 0; d < DAYS; d++) rates[d] = 1.0 + (d * 37 % 101) * 0.001;
    group_keys = malloc(sizeof *group_keys * ROWS);
    amounts = malloc(sizeof *amounts * ROWS);
    days = malloc(sizeof *days * ROWS);
    totals = calloc(GROUPS, sizeof *totals);
    if (!group_keys || !amounts || !days || !totals) return 1;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    struct scan scans[MOST_THREADS];
    for (int t = 0; t < threads; t++) {
        scans[t].rates = rates;
        scans[t].id = t;
        pthread_create(&scans[t].thread, NULL, work, &scans[t]);
    }
    for (int t = 0; t < threads; t++) pthread_join(scans[t].thread, NULL);
    printf("group 77: %lld cents in %lld rows\n", (long long)totals[77].cents,
           (long long)totals[77].count);
    free(totals);
    free(days);
    free(amounts);
    free(group_keys);
    return 0;
}
