// SPDX-License-Identifier: Apache-2.0
// Filters eight audio channels, period after period. The main thread decodes the channels once. In
// each period OpenMP's sections are taken by whichever thread is free, and the channel they start
// with moves on: one thread at a time works on a channel, but in each period another one.
// label: samples = pages change users
// action: samples = divide
// harm: samples = parallelise the existing loop
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNELS = 8, LENGTH = 1 << 17, PERIODS = 24 };

static void decode(float* samples) {
    uint32_t state = 3;
    float value = 0;
    for (size_t i = 0; i < (size_t)CHANNELS * LENGTH; i++) {
        state = state * 1664525U + 1013904223U;
        value = 0.75F * value + (float)(state >> 20);
        samples[i] = value;
    }
}

// A filter with feedback: each sample needs the one before.
static void filter(float* samples, int channel) {
    float* own = samples + (size_t)channel * LENGTH;
    float gain = 0.5F + 0.05F * (float)channel;
    float last = 0;
    for (int i = 0; i < LENGTH; i++) {
        last = gain * own[i] + (1 - gain) * last;
        own[i] = last;
    }
}

static void filter_all(float* samples, int first) {
#pragma omp parallel sections
    {
#pragma omp section
        filter(samples, first);
#pragma omp section
        filter(samples, (first + 1) % CHANNELS);
#pragma omp section
        filter(samples, (first + 2) % CHANNELS);
#pragma omp section
        filter(samples, (first + 3) % CHANNELS);
#pragma omp section
        filter(samples, (first + 4) % CHANNELS);
#pragma omp section
        filter(samples, (first + 5) % CHANNELS);
#pragma omp section
        filter(samples, (first + 6) % CHANNELS);
#pragma omp section
        filter(samples, (first + 7) % CHANNELS);
    }
}

int main(void) {
    void* memory = NULL;
    if (posix_memalign(&memory, 4096, sizeof(float) * CHANNELS * LENGTH)) return 1;
    float* samples = memory;
    decode(samples);
    for (int period = 0; period < PERIODS; period++) filter_all(samples, period % CHANNELS);
    float peak = 0;
    for (int channel = 0; channel < CHANNELS; channel++) {
        peak += samples[(size_t)channel * LENGTH + LENGTH / 2];
    }
    printf("peak %.2f\n", (double)peak);
    free(samples);
    return 0;
}
