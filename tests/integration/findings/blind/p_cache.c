// SPDX-License-Identifier: Apache-2.0
// All threads use all entries of a cache, its locks and its counters.
// label: slab = shared, written | serial first touch
// action: slab = spread | divide
// harm: slab = copy
// label: stats = true sharing of cache lines | hot pages
// called: stats = stats.gets | stats.hits | stats.sets | stats.evictions
// action: stats = divide
// harm: stats = pad | local | spread
// label: cache.stripe = true sharing of cache lines | false sharing of cache lines | hot pages | shared, written
// called: cache.stripe = stripe.lock | stripe.head | stripe.tail | stripe.used
// action: cache.stripe = pad | divide
// harm: cache.stripe = copy
// minor: bucket = shared, written | shared, read-mostly | cache-resident | serial first touch
// action: bucket = spread | divide
// minor: cdf = shared, read-mostly | cache-resident | serial first touch
// action: cdf = copy | spread | none
/* In-memory object cache: lock striping, chained hash, LRU per stripe. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRIPES 64
#define PER_STRIPE 1500
#define BUCKETS 2048
#define VALUE 104
#define KEYS 160000
#define OPS 500000
#define NIL (-1)

struct entry {
    uint64_t key;
    int32_t hnext, prev, next;
    uint32_t version;
    unsigned char value[VALUE];
};

struct stripe {
    pthread_mutex_t lock;
    int32_t head, tail, used;
    int32_t* bucket;
    struct entry* slab;
};

struct cache {
    struct stripe stripe[STRIPES];
    struct {
        atomic_ulong gets, hits, sets, evictions;
    } stats;
};

static struct cache cache;
static double* cdf;

static uint64_t next_random(uint64_t* s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static uint64_t pick_key(uint64_t* s) {
    double u = (double)(next_random(s) >> 11) / 9007199254740992.0;
    int lo = 0, hi = KEYS - 1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (cdf[mid] < u)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (uint64_t)lo * 0x9E3779B97F4A7C15ull;
}

static void unlink_lru(struct stripe* s, int32_t i) {
    struct entry* e = &s->slab[i];
    if (e->prev != NIL)
        s->slab[e->prev].next = e->next;
    else
        s->head = e->next;
    if (e->next != NIL)
        s->slab[e->next].prev = e->prev;
    else
        s->tail = e->prev;
}

static void push_front(struct stripe* s, int32_t i) {
    struct entry* e = &s->slab[i];
    e->prev = NIL;
    e->next = s->head;
    if (s->head != NIL)
        s->slab[s->head].prev = i;
    else
        s->tail = i;
    s->head = i;
}

static uint64_t fetch_or_fill(struct cache* c, uint64_t key) {
    struct stripe* s = &c->stripe[key >> 58];
    uint32_t b = (uint32_t)(key >> 40) % BUCKETS;
    uint64_t sum = 0;

    atomic_fetch_add(&c->stats.gets, 1);
    pthread_mutex_lock(&s->lock);
    int32_t i = s->bucket[b];
    while (i != NIL && s->slab[i].key != key) i = s->slab[i].hnext;
    if (i != NIL) {
        atomic_fetch_add(&c->stats.hits, 1);
        unlink_lru(s, i);
    } else {
        if (s->used < PER_STRIPE) {
            i = s->used++;
        } else {
            i = s->tail;
            unlink_lru(s, i);
            int32_t* p = &s->bucket[(uint32_t)(s->slab[i].key >> 40) % BUCKETS];
            while (*p != i) p = &s->slab[*p].hnext;
            *p = s->slab[i].hnext;
            atomic_fetch_add(&c->stats.evictions, 1);
        }
        struct entry* e = &s->slab[i];
        e->key = key;
        e->version++;
        memset(e->value, (int)(key >> 32), VALUE);
        e->hnext = s->bucket[b];
        s->bucket[b] = i;
        atomic_fetch_add(&c->stats.sets, 1);
    }
    push_front(s, i);
    for (int k = 0; k < VALUE; k += 8) sum += s->slab[i].value[k];
    pthread_mutex_unlock(&s->lock);
    return sum;
}

static void* client(void* arg) {
    uint64_t *io = arg, s = *io, sum = 0;
    for (int n = 0; n < OPS; n++) sum += fetch_or_fill(&cache, pick_key(&s));
    *io = sum;
    return NULL;
}

int main(int argc, char** argv) {
    int nt = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t tid[64];
    uint64_t io[64], sum = 0;
    double total = 0;

    if (nt < 1 || nt > 64) return 1;
    cdf = malloc(KEYS * sizeof *cdf);
    for (int k = 0; k < KEYS; k++) cdf[k] = total += pow(k + 1.0, -0.8);
    for (int k = 0; k < KEYS; k++) cdf[k] /= total;
    for (int i = 0; i < STRIPES; i++) {
        struct stripe* s = &cache.stripe[i];
        pthread_mutex_init(&s->lock, NULL);
        s->head = s->tail = NIL;
        s->bucket = malloc(BUCKETS * sizeof *s->bucket);
        s->slab = malloc(PER_STRIPE * sizeof *s->slab);
        memset(s->bucket, 0xff, BUCKETS * sizeof *s->bucket);
        memset(s->slab, 0, PER_STRIPE * sizeof *s->slab);
    }
    for (int t = 0; t < nt; t++) {
        io[t] = 12345 + 7919u * (uint64_t)t;
        pthread_create(&tid[t], NULL, client, &io[t]);
    }
    for (int t = 0; t < nt; t++) {
        pthread_join(tid[t], NULL);
        sum += io[t];
    }
    printf("cache: %lu gets, hit rate %.3f, %lu evictions, checksum %llu\n",
           (unsigned long)cache.stats.gets, (double)cache.stats.hits / (double)cache.stats.gets,
           (unsigned long)cache.stats.evictions, (unsigned long long)sum);
    return 0;
}
