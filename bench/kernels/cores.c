// SPDX-License-Identifier: Apache-2.0
// cores KIND: a fixed amount of work, divided among OpenMP's threads. Prints the wall time of the
// work in seconds, and how many times `cells` was read and written.
//
// bands      each thread increments its own band of 64 MiB, again and again
// gather     all threads read a table of 64 MiB at random places
// histogram  all threads increment random places of 1 MiB, atomically
// blocks     all threads allocate and free blocks, and increment the first element of each
// regions    many short parallel loops over 32 KiB
#define _GNU_SOURCE
#include <omp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 1 << 23, FEW_CELLS = 1 << 12, SMALL_TABLE = 1 << 17 };
enum { SWEEPS = 100, READS = 1 << 26, INCREMENTS = 1 << 26, BLOCKS = 1 << 24, REGIONS = 40000 };

struct counts {
    long reads, writes;
};

static double* cells;

static void fill(long elements) {
    cells = aligned_alloc(4096, (size_t)elements * sizeof *cells);
    if (!cells) exit(1);
#pragma omp parallel for schedule(static)
    for (long i = 0; i < elements; i++) cells[i] = 1;
}

static struct counts bands(void) {
    fill(CELLS);
    for (long sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < CELLS; i++) cells[i] += 0.5;
    }
    return (struct counts){(long)CELLS * SWEEPS, (long)CELLS * (SWEEPS + 1)};
}

// Numbers that look random (D. Lehmer's method, modulo 2^64).
static uint64_t next(uint64_t* state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static struct counts gather(void) {
    fill(CELLS);
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        uint64_t state = (uint64_t)omp_get_thread_num();
#pragma omp for schedule(static)
        for (long i = 0; i < READS; i++) sum += cells[next(&state) % CELLS];
    }
    if (sum != READS) exit(1);
    return (struct counts){READS, CELLS};
}

static struct counts histogram(void) {
    fill(SMALL_TABLE);
    _Atomic long* bins = (_Atomic long*)cells;
#pragma omp parallel
    {
        uint64_t state = (uint64_t)omp_get_thread_num();
#pragma omp for schedule(static)
        for (long i = 0; i < INCREMENTS; i++)
            atomic_fetch_add_explicit(&bins[next(&state) % SMALL_TABLE], 1, memory_order_relaxed);
    }
    return (struct counts){INCREMENTS, INCREMENTS + SMALL_TABLE};
}

static struct counts blocks(void) {
    fill(FEW_CELLS);
#pragma omp parallel
    {
        enum { HELD = 64 };
        double* held[HELD] = {0};
        uint64_t state = (uint64_t)omp_get_thread_num();
#pragma omp for schedule(static)
        for (long i = 0; i < BLOCKS; i++) {
            double** const place = &held[next(&state) % HELD];
            free(*place);
            *place = malloc(64 + next(&state) % 1024);
            if (!*place) exit(1);
            **place = 1;
        }
        for (int i = 0; i < HELD; i++) free(held[i]);
    }
    return (struct counts){0, FEW_CELLS};
}

static struct counts regions(void) {
    fill(FEW_CELLS);
    for (long region = 0; region < REGIONS; region++) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < FEW_CELLS; i++) cells[i] += 0.5;
    }
    return (struct counts){(long)FEW_CELLS * REGIONS, (long)FEW_CELLS * (REGIONS + 1)};
}

int main(int count, char** words) {
    const struct {
        const char* name;
        struct counts (*work)(void);
    } kinds[] = {{"bands", bands},
                 {"gather", gather},
                 {"histogram", histogram},
                 {"blocks", blocks},
                 {"regions", regions}};
    for (size_t i = 0; count == 2 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(words[1], kinds[i].name) != 0) continue;
        const double start = omp_get_wtime();
        const struct counts found = kinds[i].work();
        printf("%.6f %ld %ld\n", omp_get_wtime() - start, found.reads, found.writes);
        return 0;
    }
    return 2;
}
