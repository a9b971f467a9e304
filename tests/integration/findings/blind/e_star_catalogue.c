// SPDX-License-Identifier: Apache-2.0
// A loader thread reads a star catalogue into mapped memory, and ends. Then worker threads move
// their part of the stars from year to year, and count them in sky maps of their own. A worker
// keeps its part, but all pages are on the node of the loader, which is not even there any more.
// The maps are right: each worker allocates and clears its own.
// label: stars = serial first touch
// action: stars = local
// label: map = partitioned
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { STARS = 360000, YEARS = 12, MAP_SIDE = 256, MOST_THREADS = 256 };

struct star {
    double longitude, latitude, drift_longitude, drift_latitude, magnitude, parallax;
};

struct catalogue {
    struct star* stars;
    size_t count;
};

struct worker {
    pthread_t thread;
    struct star* stars;
    size_t from, to;
    uint64_t checksum;
};

static double fraction(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static void* load(void* argument) {
    struct catalogue* catalogue = argument;
    catalogue->count = STARS;
    void* stars = mmap(NULL, sizeof(struct star) * STARS, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stars == MAP_FAILED) exit(1);
    catalogue->stars = stars;
    for (size_t s = 0; s < STARS; s++) {
        struct star* star = &catalogue->stars[s];
        star->longitude = fraction(6 * s) * MAP_SIDE;
        star->latitude = fraction(6 * s + 1) * MAP_SIDE;
        star->drift_longitude = fraction(6 * s + 2) - 0.5;
        star->drift_latitude = fraction(6 * s + 3) - 0.5;
        star->magnitude = fraction(6 * s + 4) * 20;
        star->parallax = fraction(6 * s + 5);
    }
    return NULL;
}

static void move_one_year(struct star* star) {
    double swing = 0.001 * star->parallax * sin(star->longitude);
    star->longitude = fmod(star->longitude + star->drift_longitude + swing + MAP_SIDE, MAP_SIDE);
    star->latitude = fmod(star->latitude + star->drift_latitude + MAP_SIDE, MAP_SIDE);
    star->magnitude += 0.0001 * star->parallax;
}

static void* survey(void* argument) {
    struct worker* self = argument;
    uint32_t* map = calloc(MAP_SIDE * MAP_SIDE, sizeof(uint32_t));
    if (!map) exit(1);
    for (int year = 0; year < YEARS; year++) {
        for (size_t s = self->from; s < self->to; s++) {
            struct star* star = &self->stars[s];
            move_one_year(star);
            if (star->magnitude < 12) {
                map[(int)star->latitude % MAP_SIDE * MAP_SIDE + (int)star->longitude % MAP_SIDE]++;
            }
        }
    }
    for (int cell = 0; cell < MAP_SIDE * MAP_SIDE; cell++) {
        self->checksum += (uint64_t)map[cell] * (uint64_t)(cell + 1);
    }
    free(map);
    return NULL;
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    if (threads < 1 || threads > MOST_THREADS) return 2;
    struct catalogue catalogue = {0};
    pthread_t loader;
    if (pthread_create(&loader, NULL, load, &catalogue)) return 1;
    pthread_join(loader, NULL);
    static struct worker workers[MOST_THREADS];
    for (int t = 0; t < threads; t++) {
        workers[t].stars = catalogue.stars;
        workers[t].from = catalogue.count * t / threads;
        workers[t].to = catalogue.count * (t + 1) / threads;
        if (pthread_create(&workers[t].thread, NULL, survey, &workers[t])) return 1;
    }
    uint64_t checksum = 0;
    for (int t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        checksum += workers[t].checksum;
    }
    printf("sky maps %llu\n", (unsigned long long)checksum);
    munmap(catalogue.stars, sizeof(struct star) * catalogue.count);
    return 0;
}
