// SPDX-License-Identifier: Apache-2.0
// Any thread inserts and looks up any entry. The counters of all threads are in one cache line.
// label: table = shared, written
// action: table = spread | none
// harm: table = copy
// label: arena = shared, read-mostly
// action: arena = none
// harm: arena = spread
// label: nlookup = false sharing of cache lines
// action: nlookup = pad
/* Concurrent string interning: open addressing, strings in per-thread arenas. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS (1u << 18)
#define ARENA (4u << 20)
#define WORDS 1200000
#define VOCAB 130000
#define MAXT 64

struct slot {
    _Atomic uint64_t hash;
    _Atomic(char*) str;
};

static struct slot* table;
static atomic_long nlookup[MAXT];
static long fresh_total[MAXT];
static uint64_t sums[MAXT];
static int nthreads = 4;
static pthread_barrier_t start;

static uint64_t fnv(const char* s) {
    uint64_t h = 1469598103934665603ULL;
    while (*s) h = (h ^ (unsigned char)*s++) * 1099511628211ULL;
    return (h ^ (h >> 32)) | 1;
}

static const char* intern(const char* word, char** top, int tid, long* fresh) {
    uint64_t h = fnv(word);
    uint32_t i = (uint32_t)h & (SLOTS - 1);
    char* copy = NULL;
    atomic_store_explicit(&nlookup[tid],
                          atomic_load_explicit(&nlookup[tid], memory_order_relaxed) + 1,
                          memory_order_relaxed);
    for (;; i = (i + 1) & (SLOTS - 1)) {
        char* s = atomic_load_explicit(&table[i].str, memory_order_acquire);
        if (!s) {
            if (!copy) {
                copy = *top;
                strcpy(copy, word);
            }
            if (atomic_compare_exchange_strong(&table[i].str, &s, copy)) {
                atomic_store_explicit(&table[i].hash, h, memory_order_release);
                *top += strlen(word) + 1;
                ++*fresh;
                return copy;
            }
        }
        uint64_t sh = atomic_load_explicit(&table[i].hash, memory_order_acquire);
        if ((sh == h || sh == 0) && !strcmp(s, word)) return s;
    }
}

static void make_word(char* w, uint32_t v) {
    uint32_t x = v * 2654435761u;
    int n = 6 + v % 7;
    for (int i = 0; i < n; i++) {
        w[i] = (char)('a' + x % 26);
        x = x / 26 + (uint32_t)i * 977u + v;
    }
    sprintf(w + n, "%x", v);
}

static void* work(void* arg) {
    int tid = (int)(intptr_t)arg;
    char* arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED) abort();
    char *top = arena, w[64];
    long n = WORDS / nthreads, fresh = 0;
    uint64_t s = 0x853c49e6748fea9bULL * (uint64_t)(tid + 1), sum = 0;
    pthread_barrier_wait(&start);
    for (long k = 0; k < n; k++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        uint64_t a = (s >> 8) % VOCAB, b = (s >> 36) % VOCAB;
        make_word(w, (uint32_t)(a < b ? a : b));
        const char* p = intern(w, &top, tid, &fresh);
        sum += (unsigned char)p[0] + (unsigned char)p[3];
    }
    fresh_total[tid] = fresh;
    sums[tid] = sum;
    return NULL;
}

int main(int argc, char** argv) {
    if (argc > 1)
        nthreads = atoi(argv[1]);
    else if (getenv("OMP_NUM_THREADS"))
        nthreads = atoi(getenv("OMP_NUM_THREADS"));
    if (nthreads < 1 || nthreads > MAXT) nthreads = 4;
    table = calloc(SLOTS, sizeof *table);
    pthread_barrier_init(&start, NULL, (unsigned)nthreads);
    pthread_t th[MAXT];
    for (int t = 0; t < nthreads; t++) pthread_create(&th[t], NULL, work, (void*)(intptr_t)t);
    for (int t = 0; t < nthreads; t++) pthread_join(th[t], NULL);
    long look = 0, fresh = 0;
    uint64_t sum = 0;
    for (int t = 0; t < nthreads; t++) {
        look += nlookup[t];
        fresh += fresh_total[t];
        sum += sums[t];
    }
    printf("lookups %ld distinct %ld sum %llu\n", look, fresh, (unsigned long long)sum);
    return 0;
}
