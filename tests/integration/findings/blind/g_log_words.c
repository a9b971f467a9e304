// SPDX-License-Identifier: Apache-2.0
// Counts words: a reader fills buffers with text, and three counters take the full ones from a
// queue and give them back. POSIX threads, a mutex and condition variables.
// label: buffers = producer and consumer
// Why: the reader writes each buffer, and whichever counter is free reads it, again and again.
// action: buffers = none|spread
// harm: buffers = copy
// label: counts = partitioned
// Why: each counter allocates, clears and uses its own table.
// action: counts = none
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNTERS = 3, BUFFERS = 12, BYTES = 1 << 16, TEXTS = 240, SLOTS = 1 << 17 };

static char buffers[BUFFERS][BYTES] __attribute__((aligned(4096)));

struct queue {
    int slots[BUFFERS + COUNTERS];
    int used;
};

static struct queue empty, full;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void put(struct queue* queue, int buffer) {
    pthread_mutex_lock(&mutex);
    queue->slots[queue->used++] = buffer;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static int take(struct queue* queue) {
    pthread_mutex_lock(&mutex);
    while (queue->used == 0) pthread_cond_wait(&changed, &mutex);
    int buffer = queue->slots[0];
    queue->used--;
    for (int i = 0; i < queue->used; i++) queue->slots[i] = queue->slots[i + 1];
    pthread_mutex_unlock(&mutex);
    return buffer;
}

static void* read_texts(void* unused) {
    (void)unused;
    uint64_t state = 99991;
    for (int n = 0; n < TEXTS; n++) {
        int buffer = take(&empty);
        char* text = buffers[buffer];
        int at = 0;
        while (at < BYTES) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            // A few letters of a small alphabet, then a blank.
            uint64_t bits = state >> 33;
            int length = 2 + (int)(bits % 5);
            for (int i = 0; i < length && at < BYTES; i++, bits >>= 4)
                text[at++] = (char)('a' + (bits & 15));
            if (at < BYTES) text[at++] = ' ';
        }
        put(&full, buffer);
    }
    for (int c = 0; c < COUNTERS; c++) put(&full, -1);
    return NULL;
}

static void* count_words(void* total) {
    uint32_t* counts = malloc(sizeof *counts * SLOTS);
    if (!counts) exit(1);
    for (int i = 0; i < SLOTS; i++) counts[i] = 0;
    uint64_t words = 0;
    for (int buffer; (buffer = take(&full)) >= 0;) {
        const char* text = buffers[buffer];
        uint32_t hash = 2166136261u;
        for (int at = 0; at < BYTES; at++) {
            if (text[at] == ' ') {
                counts[hash % SLOTS]++;
                words++;
                hash = 2166136261u;
            } else {
                hash = (hash ^ (uint32_t)text[at]) * 16777619u;
            }
        }
        put(&empty, buffer);
    }
    uint64_t again = 0;
    for (int i = 0; i < SLOTS; i++) again += counts[i];
    *(uint64_t*)total = words == again ? words : 0;
    free(counts);
    return NULL;
}

int main(void) {
    for (int i = 0; i < BUFFERS; i++) empty.slots[empty.used++] = i;
    pthread_t reader, counters[COUNTERS];
    uint64_t totals[COUNTERS];
    if (pthread_create(&reader, NULL, read_texts, NULL)) return 1;
    for (int c = 0; c < COUNTERS; c++)
        if (pthread_create(&counters[c], NULL, count_words, &totals[c])) return 1;
    pthread_join(reader, NULL);
    uint64_t words = 0;
    for (int c = 0; c < COUNTERS; c++) {
        pthread_join(counters[c], NULL);
        words += totals[c];
    }
    printf("%llu words\n", (unsigned long long)words);
    return words > 0 ? 0 : 1;
}
