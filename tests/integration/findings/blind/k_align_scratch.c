// SPDX-License-Identifier: Apache-2.0
// Scores pairs of sequences with a full matrix of 2000 x 2000 cells. The main thread takes the
// scratch matrices of all threads from one block, and fills it with the value of the border, so all
// of them are on its node. Each thread uses only its own matrix, again and again (8 MB, so that it
// does not stay in a private cache). The pairs are taken dynamically, but the matrix belongs to the
// thread. The sequences (128 KB in all) are only read, and stay in the caches.
// label: scratch = serial first touch
// action: scratch = local
// harm: scratch = copy
// label: sequences = cache-resident
// action: sequences = none
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 2000, WIDTH = LENGTH + 1, CELLS = WIDTH * WIDTH, SEQUENCES = 64, PAIRS = 32 };

static int16_t* scratch;
static char* sequences;

static int largest(int a, int b) {
    return a > b ? a : b;
}

static int align(const char* a, const char* b, int16_t* cells) {
    int best = 0;
    for (int i = 1; i <= LENGTH; i++) {
        const int16_t* above = cells + (size_t)(i - 1) * WIDTH;
        int16_t* row = cells + (size_t)i * WIDTH;
        for (int j = 1; j <= LENGTH; j++) {
            int score = above[j - 1] + (a[i - 1] == b[j - 1] ? 2 : -1);
            score = largest(score, largest(above[j], row[j - 1]) - 2);
            score = largest(score, 0);
            row[j] = (int16_t)score;
            best = largest(best, score);
        }
    }
    int i = LENGTH, j = LENGTH, steps = 0;
    while (i > 0 && j > 0) {  // back through the matrix
        int up = cells[(size_t)(i - 1) * WIDTH + j], left = cells[(size_t)i * WIDTH + j - 1];
        int both = cells[(size_t)(i - 1) * WIDTH + j - 1];
        if (both >= up && both >= left)
            i--, j--;
        else if (up >= left)
            i--;
        else
            j--;
        steps++;
    }
    return best * 4096 + steps;
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    omp_set_num_threads(threads);
    scratch = malloc(sizeof *scratch * CELLS * (size_t)threads);
    sequences = malloc((size_t)SEQUENCES * LENGTH);
    if (!scratch || !sequences) return 1;
    int16_t border = (int16_t)(argc > 2 ? atoi(argv[2]) : 0);
    for (size_t c = 0; c < CELLS * (size_t)threads; c++) scratch[c] = border;
    uint32_t state = 12345;
    for (int i = 0; i < SEQUENCES * LENGTH; i++) {
        state = state * 1664525u + 1013904223u;
        sequences[i] = "ACGT"[state >> 30];
    }
    int64_t total = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : total)
    for (int pair = 0; pair < PAIRS; pair++) {
        int16_t* mine = scratch + (size_t)omp_get_thread_num() * CELLS;
        const char* a = sequences + (size_t)(pair * 2) * LENGTH;
        const char* b = sequences + (size_t)(pair * 2 + 1) * LENGTH;
        total += align(a, b, mine);
    }
    printf("total %ld\n", (long)total);
    free(scratch), free(sequences);
    return 0;
}
