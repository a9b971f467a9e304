// SPDX-License-Identifier: Apache-2.0
// A logger: three producers write records to their own rings, and main drains all rings.
// POSIX threads, atomics; one producer and one consumer per ring.
// label: slots = producer and consumer
// Why: each page of a ring is written by its producer and read by the consumer, in equal shares,
// again and again.
// action: slots = none
// label: ctl = false sharing of cache lines
// Why: heads of three producers and tails of the consumer are packed in one line, and are stored
// for every record.
// action: ctl = pad
// label: work = partitioned
// Why: every producer allocates, fills and reads its own megabyte.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRODUCERS = 3, SLOTS = 16384, WORDS = 8, RECORDS = 150000, SAMPLES = 24, WORK = 131072 };

static uint64_t slots[PRODUCERS][SLOTS][WORDS] __attribute__((aligned(4096)));

static struct {
    _Atomic uint64_t head;  // of the producer
    _Atomic uint64_t tail;  // of the consumer
} ctl[PRODUCERS] __attribute__((aligned(64)));

static uint64_t sent[PRODUCERS];

static uint64_t mixed(uint64_t value) {
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdULL;
    return value ^ (value >> 29);
}

// What a producer does between two log records: it samples its own data.
static uint64_t observe(const uint64_t* work, uint64_t seed) {
    uint64_t sum = 0;
    for (int i = 0; i < SAMPLES; i++) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += work[(seed >> 40) % WORK];
    }
    return sum;
}

static void* produce(void* argument) {
    int id = (int)(size_t)argument;
    uint64_t* work = malloc(sizeof(uint64_t) * WORK);
    for (uint64_t i = 0; i < WORK; i++) {
        work[i] = mixed(i + (uint64_t)id);
    }
    uint64_t check = 0;
    for (uint64_t n = 0; n < RECORDS; n++) {
        uint64_t value = observe(work, n * PRODUCERS + (uint64_t)id);
        while (n - atomic_load_explicit(&ctl[id].tail, memory_order_acquire) == SLOTS) {
            sched_yield();
        }
        uint64_t* record = slots[id][n % SLOTS];
        record[0] = n;
        record[1] = value;
        for (int i = 2; i < WORDS; i++) {
            record[i] = mixed(value + (uint64_t)i);
        }
        check += value ^ n;
        atomic_store_explicit(&ctl[id].head, n + 1, memory_order_release);
    }
    sent[id] = check;
    free(work);
    return NULL;
}

// Reads what is in a ring now; returns the number of records.
static uint64_t drain(int id, uint64_t* check, uint64_t* broken) {
    uint64_t tail = atomic_load_explicit(&ctl[id].tail, memory_order_relaxed), done = 0;
    while (done < 256 && tail != atomic_load_explicit(&ctl[id].head, memory_order_acquire)) {
        const uint64_t* record = slots[id][tail % SLOTS];
        uint64_t expected = 0, found = 0;
        for (int i = 2; i < WORDS; i++) {
            expected += mixed(record[1] + (uint64_t)i);
            found += record[i];
        }
        *broken += expected != found || record[0] != tail;
        *check += record[1] ^ record[0];
        tail++;
        done++;
        atomic_store_explicit(&ctl[id].tail, tail, memory_order_release);
    }
    return done;
}

int main(void) {
    pthread_t threads[PRODUCERS];
    for (size_t id = 0; id < PRODUCERS; id++) {
        pthread_create(&threads[id], NULL, produce, (void*)id);
    }
    uint64_t total = 0, broken = 0, check[PRODUCERS] = {0};
    while (total < (uint64_t)PRODUCERS * RECORDS) {
        uint64_t now = 0;
        for (int id = 0; id < PRODUCERS; id++) {
            now += drain(id, &check[id], &broken);
        }
        if (now == 0) {
            sched_yield();
        }
        total += now;
    }
    for (int id = 0; id < PRODUCERS; id++) {
        pthread_join(threads[id], NULL);
        broken += check[id] != sent[id];
    }
    printf("%lu records, %lu broken\n", (unsigned long)total, (unsigned long)broken);
    return broken != 0;
}
