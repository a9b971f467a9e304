// SPDX-License-Identifier: Apache-2.0
// Histogram equalisation of one decoded picture for four exposures, in stripes.
// POSIX threads (main is thread 0) with barriers; per-thread histograms in one array.
// label: image = serial first touch
// Why: main decodes the whole picture, and each thread then reads only its own stripe.
// action: image = local|parallelise the existing loop
// label: out = partitioned
// Why: each thread writes its own stripe first, and always.
// label: hist = cache-resident
// Why: four histograms of 1 KiB, on separate lines: each stays in its core's first cache.
// label: lut = cache-resident
// Why: 256 bytes that all threads only read between two barriers.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 2048, HEIGHT = 2048, THREADS = 4, EXPOSURES = 4, LEVELS = 256 };

static uint8_t *image, *out;
static uint32_t hist[THREADS][LEVELS] __attribute__((aligned(64)));
static uint8_t lut[LEVELS] __attribute__((aligned(64)));
static uint64_t brightness[THREADS][EXPOSURES];
static pthread_barrier_t barrier;

// Stands for an image library's decoder, which is sequential: each pixel needs the one before.
static void decode(void) {
    uint32_t state = 99;
    uint8_t previous = 40, *pixels = image;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++) {
        state = state * 1103515245u + 12345u;
        int delta = (int)(state >> 28) - 7;
        int value = previous + delta;
        previous = (uint8_t)(value < 0 ? 5 : value > 160 ? 150 : value);
        pixels[i] = previous;
    }
}

static void count(int t, int exposure, size_t first, size_t last) {
    uint32_t* mine = hist[t];
    const uint8_t* pixels = image;
    memset(mine, 0, sizeof hist[t]);
    for (size_t i = first; i < last; i++) {
        mine[(pixels[i] + exposure * 16) & (LEVELS - 1)]++;
    }
}

static void make_lut(void) {
    uint64_t sum = 0;
    for (int level = 0; level < LEVELS; level++) {
        for (int t = 0; t < THREADS; t++) {
            sum += hist[t][level];
        }
        lut[level] = (uint8_t)(sum * (LEVELS - 1) / ((uint64_t)WIDTH * HEIGHT));
    }
}

static void apply(int t, int exposure, size_t first, size_t last) {
    const uint8_t* in = image;
    uint8_t* to = out;
    for (size_t i = first; i < last; i++) {
        to[i] = lut[(in[i] + exposure * 16) & (LEVELS - 1)];
    }
    uint64_t sum = 0;
    for (size_t i = first; i < last; i++) {
        sum += to[i];
    }
    brightness[t][exposure] = sum;
}

static void* stripe(void* argument) {
    int t = (int)(size_t)argument;
    size_t pixels = (size_t)WIDTH * HEIGHT;
    size_t first = t * pixels / THREADS, last = (t + 1) * pixels / THREADS;
    for (int exposure = 0; exposure < EXPOSURES; exposure++) {
        count(t, exposure, first, last);
        pthread_barrier_wait(&barrier);
        if (t == 0) {
            make_lut();
        }
        pthread_barrier_wait(&barrier);
        apply(t, exposure, first, last);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void) {
    image = malloc((size_t)WIDTH * HEIGHT);
    out = malloc((size_t)WIDTH * HEIGHT);
    decode();
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (size_t t = 1; t < THREADS; t++) {
        pthread_create(&threads[t], NULL, stripe, (void*)t);
    }
    stripe((void*)0);
    for (int t = 1; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
    }
    int good = 1;
    for (int exposure = 0; exposure < EXPOSURES; exposure++) {
        double sum = 0;
        for (int t = 0; t < THREADS; t++) {
            sum += (double)brightness[t][exposure];
        }
        double mean = sum / ((double)WIDTH * HEIGHT);
        printf("exposure %d: mean %.2f\n", exposure, mean);
        good &= mean > 120 && mean < 140;
    }
    free(image);
    free(out);
    return !good;
}
