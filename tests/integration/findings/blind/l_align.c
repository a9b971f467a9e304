// SPDX-License-Identifier: Apache-2.0
// Pairs of sequences are aligned. They are sorted by length, and divided into ranges of equal
// numbers: the last thread has most of the work.
// label: run = load imbalance
// action: run = balance
// harm: lib.bases = local
// harm: lib.bases = spread
// label: row = cache-resident
// action: row = none
/* Global alignment scores of many pairs of reads against their templates.
 * usage: l_align [threads] [pairs]                                         */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_LEN 150
#define MAX_LEN 3600
#define GAP (-3)

struct pair {
    int id;
    int len_a, len_b;
    size_t off_a, off_b;
};

struct library {
    int pairs;
    struct pair* list;
    char* bases;
    size_t used;
};

static const signed char score_table[4][4] = {
    {4, -2, -1, -2},
    {-2, 4, -2, -1},
    {-1, -2, 4, -2},
    {-2, -1, -2, 4},
};

static uint32_t rnd(uint32_t* s) {
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

static int by_length(const void* a, const void* b) {
    const struct pair *p = a, *q = b;
    if (p->len_a != q->len_a) return p->len_a < q->len_a ? -1 : 1;
    return p->id - q->id;
}

static struct library make_library(int pairs) {
    struct library lib;
    uint32_t s = 4711;
    lib.pairs = pairs;
    lib.list = calloc((size_t)pairs, sizeof *lib.list);
    lib.bases = malloc((size_t)pairs * 2 * (MAX_LEN + 64));
    lib.used = 0;
    if (!lib.list || !lib.bases) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    for (int i = 0; i < pairs; i++) {
        struct pair* p = &lib.list[i];
        p->id = i;
        p->len_a = MIN_LEN + (int)(rnd(&s) % (MAX_LEN - MIN_LEN));
        p->off_a = lib.used;
        for (int k = 0; k < p->len_a; k++) lib.bases[lib.used++] = (char)(rnd(&s) & 3);
        p->off_b = lib.used;
        for (int k = 0; k < p->len_a; k++) {
            uint32_t r = rnd(&s) % 100;
            if (r < 3) continue;
            if (r < 8)
                lib.bases[lib.used++] = (char)(rnd(&s) & 3);
            else
                lib.bases[lib.used++] = lib.bases[p->off_a + (size_t)k];
        }
        p->len_b = (int)(lib.used - p->off_b);
    }
    qsort(lib.list, (size_t)pairs, sizeof *lib.list, by_length);
    return lib;
}

static int align(const char* a, int na, const char* b, int nb, int* row) {
    for (int j = 0; j <= nb; j++) row[j] = j * GAP;
    for (int i = 1; i <= na; i++) {
        const signed char* sc = score_table[(int)a[i - 1]];
        int diag = row[0];
        row[0] = i * GAP;
        for (int j = 1; j <= nb; j++) {
            int best = diag + sc[(int)b[j - 1]];
            int up = row[j] + GAP, left = row[j - 1] + GAP;
            diag = row[j];
            if (up > best) best = up;
            if (left > best) best = left;
            row[j] = best;
        }
    }
    return row[nb];
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    int pairs = argc > 2 ? atoi(argv[2]) : 520;
    if (threads < 1 || pairs < 1) {
        fprintf(stderr, "usage: %s [threads] [pairs]\n", argv[0]);
        return 1;
    }
    omp_set_num_threads(threads);
    struct library lib = make_library(pairs);
    int* score = calloc((size_t)pairs, sizeof *score);
    if (!score) return 2;

#pragma omp parallel
    {
        int* row = malloc(sizeof(int) * (MAX_LEN + 64));
#pragma omp for schedule(static)
        for (int i = 0; i < lib.pairs; i++) {
            const struct pair* p = &lib.list[i];
            score[p->id] =
                align(lib.bases + p->off_a, p->len_a, lib.bases + p->off_b, p->len_b, row);
        }
        free(row);
    }

    uint64_t sum = 1469598103934665603ull;
    long best = 0;
    for (int i = 0; i < pairs; i++) {
        sum = (sum ^ (uint64_t)(uint32_t)score[i]) * 1099511628211ull;
        best = score[i] > best ? score[i] : best;
    }
    printf("pairs %d bases %zu best %ld checksum %016llx\n", pairs, lib.used, best,
           (unsigned long long)sum);
    free(score);
    free(lib.list);
    free(lib.bases);
    return 0;
}
