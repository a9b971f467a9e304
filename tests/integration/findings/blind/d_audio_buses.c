// SPDX-License-Identifier: Apache-2.0
// Two threads serve each bus of an audio mixer: the even one mixes the tracks of the bus, the odd
// one computes the envelope of the same tracks. So each page of the tracks is read by exactly the
// two threads of its bus, who each also decoded half of the bus's tracks, and pages of other buses
// have other users. The pair should run on one node. Mix and envelope are each written and read by
// one thread per bus, who touched them first.
// label: tracks = shared by groups
// harm: tracks = spread
// label: mix = partitioned
// action: mix = none
// label: envelope = partitioned
// action: envelope = none
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRACKS = 8, FRAMES = 1 << 18, TAKES = 8, MOST_THREADS = 64 };

static float* tracks;
static float* mix;
static float* envelope;
static pthread_barrier_t decoded;

static void decode(float* track, uint32_t seed) {
    for (int f = 0; f < FRAMES; f++) {
        seed = seed * 1103515245u + 12345u;
        track[f] = (float)(seed >> 8) * 0x1p-23f - 1.0f;
    }
}

static void mix_bus(const float* bus, float* out, float gain) {
    const float* a = bus;
    for (int f = 0; f < FRAMES; f++) {
        float sum = 0;
        for (int t = 0; t < TRACKS; t++) sum += a[(size_t)t * FRAMES + f];
        out[f] = 0.5f * out[f] + gain * sum;
    }
}

static void follow_bus(const float* bus, float* out, float release) {
    float level = 0;
    for (int f = 0; f < FRAMES; f++) {
        float peak = 0;
        for (int t = 0; t < TRACKS; t++) {
            float sample = fabsf(bus[(size_t)t * FRAMES + f]);
            peak = sample > peak ? sample : peak;
        }
        level = peak > level * release ? peak : level * release;
        out[f] = 0.5f * out[f] + level;
    }
}

static void* serve(void* argument) {
    int id = (int)(intptr_t)argument;
    int bus = id / 2;
    float* own_tracks = tracks + (size_t)bus * TRACKS * FRAMES;
    for (int t = id % 2; t < TRACKS; t += 2)
        decode(own_tracks + (size_t)t * FRAMES, (uint32_t)(bus * TRACKS + t));
    float* out = (id % 2 ? envelope : mix) + (size_t)bus * FRAMES;
    for (int f = 0; f < FRAMES; f++) out[f] = 0;
    pthread_barrier_wait(&decoded);
    for (int take = 0; take < TAKES; take++) {
        if (id % 2) {
            follow_bus(own_tracks, out, 0.99f - 0.01f * (float)take);
        } else {
            mix_bus(own_tracks, out, 0.1f + 0.01f * (float)take);
        }
    }
    return NULL;
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    if (threads < 2 || threads > MOST_THREADS || threads % 2) return 2;
    size_t buses = (size_t)threads / 2;
    tracks = aligned_alloc(4096, sizeof(float) * TRACKS * FRAMES * buses);
    mix = aligned_alloc(4096, sizeof(float) * FRAMES * buses);
    envelope = aligned_alloc(4096, sizeof(float) * FRAMES * buses);
    if (!tracks || !mix || !envelope) return 1;
    pthread_barrier_init(&decoded, NULL, (unsigned)threads);
    pthread_t pool[MOST_THREADS];
    for (int t = 0; t < threads; t++) pthread_create(&pool[t], NULL, serve, (void*)(intptr_t)t);
    for (int t = 0; t < threads; t++) pthread_join(pool[t], NULL);
    printf("mix %.5f, envelope %.5f\n", mix[FRAMES / 2], envelope[FRAMES / 2]);
    free(envelope);
    free(mix);
    free(tracks);
    return 0;
}
