// SPDX-License-Identifier: Apache-2.0
// Two stages: one thread fills the blocks of a ring, and another one adds them to its own sums.
// The second stage makes more than twice as many accesses; it is another work than the first one.
// label: ring = producer and consumer
// label: sums = partitioned
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 16, LENGTH = 8192, ROUNDS = 20 };

static double* ring;
static int filled, emptied;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static double* wait_for(const int* count, int least, int block) {
    pthread_mutex_lock(&mutex);
    while (*count < least) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    return ring + (size_t)(block % BLOCKS) * LENGTH;
}

static void done(int* count) {
    pthread_mutex_lock(&mutex);
    (*count)++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void* fill(void* unused) {
    (void)unused;
    for (int b = 0; b < ROUNDS * BLOCKS; b++) {
        double* block = wait_for(&emptied, b - BLOCKS + 1, b);
        for (int i = 0; i < LENGTH; i++) block[i] = b + i;
        done(&filled);
    }
    return NULL;
}

static void* add(void* result) {
    double* sums = malloc(sizeof *sums * BLOCKS * LENGTH);
    for (int i = 0; i < BLOCKS * LENGTH; i++) sums[i] = 0;
    for (int b = 0; b < ROUNDS * BLOCKS; b++) {
        const double* block = wait_for(&filled, b + 1, b);
        for (int i = 0; i < LENGTH; i++) sums[b % BLOCKS * LENGTH + i] += block[i];
        done(&emptied);
    }
    *(double*)result = sums[LENGTH - 1];
    free(sums);
    return NULL;
}

int main(void) {
    ring = aligned_alloc(4096, sizeof *ring * BLOCKS * LENGTH);
    pthread_t stages[2];
    double result = 0;
    pthread_create(&stages[0], NULL, fill, NULL);
    pthread_create(&stages[1], NULL, add, &result);
    for (int i = 0; i < 2; i++) pthread_join(stages[i], NULL);
    printf("%g\n", result);
    free(ring);
}
