// SPDX-License-Identifier: Apache-2.0
// A global, heap blocks and an array on the stack, first touched by one thread or by all of a team;
// for comparing recorders. Usage: parity_c [parallel]
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 32, WORDS = PAGES * 512, TEAM = 2 };

double table[WORDS] __attribute__((aligned(4096)));

static void fill(double* to, long from, long end) {
    for (long i = from; i < end; i++) to[i] = (double)i;
}

static double add_up(const double* values, const int* order, long count) {
    double sum = 0;
    for (long i = 0; i < count; i++) sum += values[order[i]];
    return sum;
}

__attribute__((noinline)) static void scale(double* values, long count) {
    for (long i = 0; i < count; i++)
        if (i % 3 == 0) values[i] *= 2;
}

int main(int argc, char** argv) {
    int team = argc > 1 && strcmp(argv[1], "parallel") == 0 ? TEAM : 1;
    double* values = aligned_alloc(4096, WORDS * sizeof *values);
    int* order = aligned_alloc(4096, WORDS * sizeof *order);
    double local[4 * 512];
    double sum = 0;
    omp_set_dynamic(0);
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
#pragma omp parallel num_threads(team)
    {
        long part = WORDS / omp_get_num_threads();
        long first = omp_get_thread_num() * part;
        fill(values, first, first + part);
        fill(table, first, first + part);
    }
    for (long i = 0; i < WORDS; i++) order[i] = (int)(i * 7919 % WORDS);
    fill(local, 0, 4 * 512);
    scale(table, WORDS);
    scale(local, 4 * 512);
    for (int round = 0; round < 3; round++) sum += add_up(values, order, WORDS);
    printf("%g %g %g\n", sum, table[99], local[99]);
    free(order);
    free(values);
    return 0;
}
