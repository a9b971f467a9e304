// SPDX-License-Identifier: Apache-2.0
// label: val = serial first touch
// Why: The factor is assembled by one thread, then each solve reads the rows of a level in
// static parts, the same in every solve. The rows are numbered by level, so a thread's part is
// contiguous.
// action: val = local
// harm: val = copy | parallelise the existing loop
// label: col = serial first touch
// Why: As val.
// action: col = local
// harm: col = copy | parallelise the existing loop
// Corrected after the first look, by reading the source again: one thread fills start and diagonal,
// too. The levels divide b and x in another way than the loops over all rows: that over b in each
// step, and the first touch of x.
// label: l.start = serial first touch
// action: l.start = local
// harm: l.start = copy
// label: l.diagonal = serial first touch
// action: l.diagonal = local
// harm: l.diagonal = copy
// label: b = pages change users
// action: b = divide | spread
// label: x = remote first touch
// action: x = local | divide | spread
// Sparse lower triangular solves by levels. The rows are numbered by level; a row needs results
// of the
// level before it only.
//   usage: tri_levels [rows per level] [levels] [solves]
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int per_level = 16000, levels = 8, solves = 6;
static const int fill = 12;

struct factor {
    int n;
    int *start, *col;
    double *val, *diagonal;
};

static struct factor assemble(void) {
    struct factor l = {.n = per_level * levels};
    l.start = malloc(sizeof(int) * (l.n + 1));
    l.col = malloc(sizeof(int) * (size_t)l.n * fill);
    l.val = malloc(sizeof(double) * (size_t)l.n * fill);
    l.diagonal = malloc(sizeof(double) * l.n);
    uint32_t random = 1;
    int at = 0;
    for (int i = 0; i < l.n; i++) {
        l.start[i] = at;
        l.diagonal[i] = 0.25 + 1e-6 * (i % 1000);
        int level = i / per_level, place = i % per_level;
        if (level > 0)
            for (int e = 0; e < fill; e++) {
                random = random * 1664525u + 1013904223u;
                int other = (place + (int)(random >> 26) - 32 + per_level) % per_level;
                l.col[at] = (level - 1) * per_level + other;
                l.val[at++] = 1e-3 * (double)(random >> 20);
            }
    }
    l.start[l.n] = at;
    return l;
}

static void solve(const struct factor* l, const double* b, double* x) {
#pragma omp parallel
    for (int level = 0; level < levels; level++) {
#pragma omp for schedule(static)
        for (int i = level * per_level; i < (level + 1) * per_level; i++) {
            double sum = b[i];
            for (int e = l->start[i]; e < l->start[i + 1]; e++) sum -= l->val[e] * x[l->col[e]];
            x[i] = sum * l->diagonal[i];
        }
    }
}

int main(int argc, char** argv) {
    if (argc > 1) per_level = atoi(argv[1]);
    if (argc > 2) levels = atoi(argv[2]);
    if (argc > 3) solves = atoi(argv[3]);
    struct factor l = assemble();
    double *b = malloc(sizeof(double) * l.n), *x = malloc(sizeof(double) * l.n);
    if (!b || !x) return 1;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < l.n; i++) b[i] = 1.0 + i % 7, x[i] = 0;
    for (int s = 0; s < solves; s++) {
        solve(&l, b, x);
#pragma omp parallel for schedule(static)
        for (int i = 0; i < l.n; i++) b[i] = 0.5 * b[i] + 0.1 * tanh(x[i]);
    }
    double norm = 0;
    for (int i = 0; i < l.n; i += 97) norm += x[i] * x[i];
    printf("norm %.6e\n", sqrt(norm));
    return 0;
}
