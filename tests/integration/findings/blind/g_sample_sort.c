// SPDX-License-Identifier: Apache-2.0
// Sample sort with eight POSIX threads: each sorts its piece, then collects its range of values
// from all pieces into memory of its own, and sorts again.
// label: values = serial first touch
// Why: main generates all values, and each thread sorts its own piece; the collecting is one pass.
// action: values = local
// harm: values = copy
// label: collected = partitioned
// Why: each thread allocates, fills, sorts and checks its own range.
// action: collected = none
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, PIECE = 1 << 17, VALUES = THREADS * PIECE };

static uint32_t* values;
static uint64_t sums[THREADS * 16];
static size_t counts[THREADS * 16];
static int sorted[THREADS * 16];
static pthread_barrier_t barrier;

static void quicksort(uint32_t* v, long low, long high) {
    while (high - low > 16) {
        uint32_t pivot = v[low + (high - low) / 2];
        long i = low, j = high - 1;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i <= j) {
                uint32_t swapped = v[i];
                v[i++] = v[j];
                v[j--] = swapped;
            }
        }
        quicksort(v, low, j + 1);
        low = i;
    }
    for (long i = low + 1; i < high; i++) {
        uint32_t moved = v[i];
        long j = i;
        for (; j > low && v[j - 1] > moved; j--) v[j] = v[j - 1];
        v[j] = moved;
    }
}

static long first_at_least(const uint32_t* v, long n, uint64_t limit) {
    long low = 0, high = n;
    while (low < high) {
        long middle = low + (high - low) / 2;
        if (v[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void* sorter(void* argument) {
    int me = (int)(intptr_t)argument;
    quicksort(values + (size_t)me * PIECE, 0, PIECE);
    pthread_barrier_wait(&barrier);
    uint64_t low = ((uint64_t)me << 32) / THREADS, high = ((uint64_t)(me + 1) << 32) / THREADS;
    uint32_t* collected = malloc(sizeof *collected * PIECE * 2);
    if (!collected) exit(1);
    size_t count = 0;
    for (int t = 0; t < THREADS; t++) {
        const uint32_t* piece = values + (size_t)t * PIECE;
        long end = first_at_least(piece, PIECE, high);
        for (long i = first_at_least(piece, PIECE, low); i < end; i++)
            collected[count++] = piece[i];
    }
    quicksort(collected, 0, (long)count);
    uint64_t sum = 0;
    int good = 1;
    for (size_t i = 0; i < count; i++) {
        sum += collected[i];
        if (i > 0 && collected[i - 1] > collected[i]) good = 0;
    }
    counts[me * 16] = count;
    sums[me * 16] = sum;
    sorted[me * 16] = good;
    free(collected);
    return NULL;
}

int main(void) {
    values = malloc(sizeof *values * VALUES);
    if (!values) return 1;
    uint64_t state = 4101842887655102017ull, sum = 0;
    for (size_t i = 0; i < VALUES; i++) {
        state ^= state >> 21;
        state ^= state << 35;
        state ^= state >> 4;
        values[i] = (uint32_t)(state * 2685821657736338717ull >> 32);
        sum += values[i];
    }
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, sorter, (void*)(intptr_t)t)) return 1;
    int good = 1;
    size_t count = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        sum -= sums[t * 16];
        count += counts[t * 16];
        good &= sorted[t * 16];
    }
    printf("%zu values, %s\n", count, good && sum == 0 ? "sorted" : "wrong");
    free(values);
    return good && sum == 0 && count == VALUES ? 0 : 1;
}
