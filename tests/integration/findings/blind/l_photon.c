// SPDX-License-Identifier: Apache-2.0
// Photons are followed through layers. Each thread counts in its own record of 40 bytes of one
// array.
// label: tallies = false sharing of cache lines
// action: tallies = pad
/* Photon transport in layered tissue.
 * usage: l_photon [threads] [thousands of photons]                         */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LAYERS 3
#define MAX_THREADS 128
#define BATCH 500

struct layer {
    double top, bottom;
    double absorb, scatter, g;
};

struct tally {
    double absorbed[LAYERS];
    double reflected;
    long scatters;
};

struct job {
    int id;
    int threads;
    long batches;
};

static const struct layer skin[LAYERS] = {
    {0.00, 0.05, 1.2, 42.0, 0.80},
    {0.05, 0.30, 0.6, 30.0, 0.75},
    {0.30, 1.50, 0.9, 18.0, 0.85},
};

static struct tally tallies[MAX_THREADS];
static double transmitted[MAX_THREADS];

static inline uint64_t next64(uint64_t* s) {
    uint64_t x = *s;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *s = x;
    return x;
}

static inline double uniform(uint64_t* s) {
    return ((double)(next64(s) >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

static int layer_at(double z) {
    int l = 0;
    while (l < LAYERS - 1 && z >= skin[l].bottom) l++;
    return l;
}

static double fast_length(double u) {
    union {
        double d;
        uint64_t i;
    } v = {u};
    int e = (int)(v.i >> 52) - 1023;
    v.i = (v.i & 0xfffffffffffffull) | 0x3ff0000000000000ull;
    double m = v.d - 1.0;
    double l2 = e + m * (1.4425 - m * (0.7183 - m * (0.4575 - m * (0.2778 - m * 0.0961))));
    return -l2 * 0.693147180559945;
}

static double one_photon(uint64_t* rng, struct tally* t) {
    double z = 0.0, cosz = 1.0, w = 1.0;
    for (int step = 0; step < 2000; step++) {
        int l = layer_at(z);
        const struct layer* m = &skin[l];
        double mu = m->absorb + m->scatter;
        z += cosz * fast_length(uniform(rng)) / mu;
        if (z < 0.0) {
            t->reflected += w;
            return 0.0;
        }
        if (z > skin[LAYERS - 1].bottom) return w;
        l = layer_at(z);
        double lost = w * skin[l].absorb / (skin[l].absorb + skin[l].scatter);
        t->absorbed[l] += lost;
        t->scatters++;
        w -= lost;
        if (w < 1e-3) {
            if (uniform(rng) > 0.1) return 0.0;
            w *= 10.0;
        }
        double g = skin[l].g;
        double f = (1.0 - g * g) / (1.0 - g + 2.0 * g * uniform(rng));
        double ct = (1.0 + g * g - f * f) / (2.0 * g);
        double side = 2.0 * uniform(rng) - 1.0;
        double st = sqrt(fmax(0.0, 1.0 - ct * ct));
        cosz = cosz * ct + sqrt(fmax(0.0, 1.0 - cosz * cosz)) * st * side;
        if (cosz > 1.0) cosz = 1.0;
        if (cosz < -1.0) cosz = -1.0;
    }
    return 0.0;
}

static void* worker(void* arg) {
    struct job* j = arg;
    double through = 0.0;
    for (long b = j->id; b < j->batches; b += j->threads) {
        uint64_t rng = (uint64_t)(b + 1) * 0x9E3779B97F4A7C15ull;
        for (int i = 0; i < 8; i++) next64(&rng);
        for (int i = 0; i < BATCH; i++) through += one_photon(&rng, &tallies[j->id]);
    }
    transmitted[j->id] = through;
    return NULL;
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    long photons = (argc > 2 ? atol(argv[2]) : 1400) * 1000;
    if (threads < 1 || threads > MAX_THREADS || photons < BATCH) {
        fprintf(stderr, "usage: %s [threads] [kilo photons]\n", argv[0]);
        return 1;
    }
    pthread_t tid[MAX_THREADS];
    struct job jobs[MAX_THREADS];
    for (int t = 0; t < threads; t++) {
        jobs[t] = (struct job){t, threads, photons / BATCH};
        if (pthread_create(&tid[t], NULL, worker, &jobs[t]) != 0) {
            perror("pthread_create");
            return 2;
        }
    }
    for (int t = 0; t < threads; t++) pthread_join(tid[t], NULL);

    struct tally all = {{0}, 0, 0};
    double out = 0.0;
    for (int t = 0; t < threads; t++) {
        for (int l = 0; l < LAYERS; l++) all.absorbed[l] += tallies[t].absorbed[l];
        all.reflected += tallies[t].reflected;
        all.scatters += tallies[t].scatters;
        out += transmitted[t];
    }
    double n = (double)(photons / BATCH * BATCH);
    printf("absorbed");
    for (int l = 0; l < LAYERS; l++) printf(" %.6f", all.absorbed[l] / n);
    double sum = all.absorbed[0] + all.absorbed[1] + all.absorbed[2] + all.reflected + out;
    printf(" reflected %.6f transmitted %.6f balance %s checksum %ld\n", all.reflected / n, out / n,
           fabs(sum / n - 1.0) < 0.01 ? "ok" : "BAD", all.scatters);
    return 0;
}
