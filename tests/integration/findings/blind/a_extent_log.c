// SPDX-License-Identifier: Apache-2.0
// A log-structured store in one mapping. A thread takes an extent of 64 KiB from a shared cursor,
// appends its records there, and later goes over its own extents several times. Extents of all
// threads alternate, but each is a multiple of the page size and has one user, who touched it
// first. Main reads one field of each record at the end. Nothing is to be fixed.
// label: journal = partitioned
// action: journal = none
// label: run = no NUMA problem
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { EXTENT = 65536, EXTENTS = 48, FIELDS = 8, ROUNDS = 50, MAX_THREADS = 64 };
enum { RECORDS = EXTENT / (FIELDS * 8) };

struct record {
    uint64_t fields[FIELDS];
};

static char* journal;
static size_t cursor;

static void append(struct record* record, uint64_t key) {
    for (int f = 0; f < FIELDS; f++) record->fields[f] = key * 31 + (uint64_t)f;
}

static void revise(struct record* record, uint64_t round) {
    uint64_t carry = round;
    for (int f = 0; f < FIELDS; f++) {
        carry = (carry ^ record->fields[f]) * 0x9E3779B97F4A7C15U;
        record->fields[f] = carry >> 3;
    }
}

static void* serve(void* argument) {
    uint64_t client = (uint64_t)(uintptr_t)argument;
    struct record* extents[EXTENTS];
    for (int e = 0; e < EXTENTS; e++) {
        size_t place = __atomic_fetch_add(&cursor, EXTENT, __ATOMIC_RELAXED);
        extents[e] = (struct record*)(journal + place);
        for (int r = 0; r < RECORDS; r++) {
            append(extents[e] + r, (client * EXTENTS + (uint64_t)e) * RECORDS + (uint64_t)r);
        }
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (int e = 0; e < EXTENTS; e++) {
            for (int r = 0; r < RECORDS; r++) revise(extents[e] + r, round);
        }
    }
    return NULL;
}

int main(void) {
    const char* chosen = getenv("THREADS");
    int threads = chosen ? atoi(chosen) : 4;
    if (threads < 1 || threads > MAX_THREADS) return 2;
    size_t size = (size_t)threads * EXTENTS * EXTENT;
    journal = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (journal == MAP_FAILED) return 1;
    pthread_t handles[MAX_THREADS];
    for (int t = 0; t < threads; t++) {
        pthread_create(&handles[t], NULL, serve, (void*)(uintptr_t)t);
    }
    for (int t = 0; t < threads; t++) pthread_join(handles[t], NULL);
    uint64_t check = 0;
    for (size_t at = 0; at < size; at += sizeof(struct record)) {
        check += ((struct record*)(journal + at))->fields[0];
    }
    printf("check %llu\n", (unsigned long long)check);
    munmap(journal, size);
    return 0;
}
