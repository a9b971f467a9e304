// SPDX-License-Identifier: Apache-2.0
// Threads append to one log, entry by entry, and then read it in contiguous parts. Counters lie in
// one line.
// label: svc = true sharing of cache lines
// label: svc = false sharing of cache lines
// action: svc = pad | divide
// label: svc.log = page-level false sharing
// label: svc.log = false sharing of cache lines
// minor: svc.log = pages change users
// action: svc.log = pad | divide | spread
// harm: svc.log = local
// label: svc.counter = shared, written
// action: svc.counter = spread | divide
// harm: svc.counter = copy
// label: svc.stat = false sharing of cache lines
// action: svc.stat = pad
/* logsvc - a log structured counter service.  Front-end threads append increments to
 * one log; when a segment is full everybody folds it into the counter table.
 *   logsvc [threads]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT (1u << 19) /* records in one segment */
#define NSEGMENT 3
#define NCOUNTER (1u << 19)

typedef struct {
    uint32_t key;
    uint32_t delta;
    uint64_t stamp;
} record_t;

typedef struct {
    uint64_t appended;
    uint64_t folded;
} thread_stat_t;

typedef struct {
    record_t* log;
    uint64_t tail; /* next free record */
    uint64_t* counter;
    thread_stat_t* stat;
    int nthreads;
    pthread_barrier_t phase;
} service_t;

static service_t svc;

static inline uint64_t next(uint64_t* s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void append(int me, uint32_t key, uint32_t delta) {
    uint64_t at = __atomic_fetch_add(&svc.tail, 1, __ATOMIC_ACQ_REL);
    record_t* r = &svc.log[at];
    r->key = key;
    r->delta = delta;
    r->stamp = at;
    svc.stat[me].appended++;
}

static void fold(int me, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) {
        const record_t* r = &svc.log[i];
        __atomic_fetch_add(&svc.counter[r->key], r->delta, __ATOMIC_RELAXED);
        svc.stat[me].folded++;
    }
}

static void* front_end(void* arg) {
    int me = (int)(long)arg, n = svc.nthreads;

    for (int seg = 0; seg < NSEGMENT; seg++) {
        uint64_t base = (uint64_t)seg * SEGMENT;
        /* the requests of a client depend on the client only, not on the thread */
        for (uint32_t c = me; c < 64; c += n) {
            uint64_t s = 1 + c + 64 * seg;
            for (int warm = 0; warm < 8; warm++) next(&s);
            for (uint32_t k = 0; k < SEGMENT / 64; k++) {
                uint64_t x = next(&s);
                append(me, (uint32_t)(x >> 20) & (NCOUNTER - 1), 1 + (x & 7));
            }
        }
        pthread_barrier_wait(&svc.phase);
        fold(me, base + (uint64_t)SEGMENT * me / n, base + (uint64_t)SEGMENT * (me + 1) / n);
        pthread_barrier_wait(&svc.phase);
    }
    return NULL;
}

int main(int argc, char** argv) {
    int n = argc > 1 ? atoi(argv[1]) : 4;

    svc.nthreads = n;
    svc.log = malloc((size_t)NSEGMENT * SEGMENT * sizeof *svc.log);
    svc.counter = malloc(NCOUNTER * sizeof *svc.counter);
    memset(svc.counter, 0, NCOUNTER * sizeof *svc.counter);
    svc.stat = calloc(n, sizeof *svc.stat);
    pthread_barrier_init(&svc.phase, NULL, n);

    pthread_t* th = malloc(n * sizeof *th);
    for (long t = 0; t < n; t++) pthread_create(&th[t], NULL, front_end, (void*)t);
    for (int t = 0; t < n; t++) pthread_join(th[t], NULL);

    uint64_t app = 0, fol = 0, sum = 0, mixed = 0;
    for (int t = 0; t < n; t++) {
        app += svc.stat[t].appended;
        fol += svc.stat[t].folded;
    }
    for (uint32_t k = 0; k < NCOUNTER; k++) {
        sum += svc.counter[k];
        mixed = mixed * 31 + svc.counter[k];
    }
    printf("appended %lu folded %lu sum %lu checksum %016lx\n", app, fol, sum, mixed);
    return 0;
}
