// SPDX-License-Identifier: Apache-2.0
// Two producers and two consumers, in pairs. A pair passes blocks of 64 KiB through its own ring of
// 4 MiB, many times around. Both rings lie in one allocation. The producer touches a page first and
// writes it in every round, the consumer of the same pair reads it; the other pair never uses it.
// label: slots = shared by groups
// action: slots = local
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 8192, BLOCKS = 64, ROUNDS = 24, MAX_PAIRS = 64 };

struct ring {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int produced, consumed;
    double result;
} __attribute__((aligned(4096)));

static double* slots;
static struct ring rings[MAX_PAIRS];

static double* slot(int pair, int number) {
    return slots + ((size_t)pair * BLOCKS + number % BLOCKS) * BLOCK;
}

static void advance(struct ring* ring, int* counter) {
    pthread_mutex_lock(&ring->lock);
    ++*counter;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}

static void* produce(void* argument) {
    struct ring* ring = argument;
    int pair = (int)(ring - rings);
    double signal = pair;
    for (int b = 0; b < BLOCKS * ROUNDS; b++) {
        pthread_mutex_lock(&ring->lock);
        while (ring->produced - ring->consumed == BLOCKS) {
            pthread_cond_wait(&ring->changed, &ring->lock);
        }
        pthread_mutex_unlock(&ring->lock);
        double* block = slot(pair, b);
        for (int i = 0; i < BLOCK; i++) {
            signal = signal * 0.75 + (double)((b + i) & 15);
            block[i] = signal;
        }
        advance(ring, &ring->produced);
    }
    return NULL;
}

static void* consume(void* argument) {
    struct ring* ring = argument;
    int pair = (int)(ring - rings);
    double level = 0;
    for (int b = 0; b < BLOCKS * ROUNDS; b++) {
        pthread_mutex_lock(&ring->lock);
        while (ring->produced == ring->consumed) pthread_cond_wait(&ring->changed, &ring->lock);
        pthread_mutex_unlock(&ring->lock);
        const double* block = slot(pair, b);
        for (int i = 0; i < BLOCK; i++) level = level * 0.5 + block[i];
        advance(ring, &ring->consumed);
    }
    ring->result = level;
    return NULL;
}

int main(void) {
    const char* chosen = getenv("THREADS");
    int pairs = (chosen ? atoi(chosen) : 4) / 2;
    if (pairs < 1 || pairs > MAX_PAIRS) return 2;
    pthread_t threads[2 * MAX_PAIRS];
    slots = malloc((size_t)pairs * BLOCKS * BLOCK * sizeof *slots);
    for (int p = 0; p < pairs; p++) {
        pthread_mutex_init(&rings[p].lock, NULL);
        pthread_cond_init(&rings[p].changed, NULL);
        pthread_create(&threads[2 * p], NULL, produce, &rings[p]);
        pthread_create(&threads[2 * p + 1], NULL, consume, &rings[p]);
    }
    double total = 0;
    for (int t = 0; t < 2 * pairs; t++) pthread_join(threads[t], NULL);
    for (int p = 0; p < pairs; p++) total += rings[p].result;
    printf("level %.6f\n", total);
    free(slots);
    return 0;
}
