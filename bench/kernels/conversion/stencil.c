// SPDX-License-Identifier: Apache-2.0
//
// Two arrays of the given number of MiB, averaged into each other by all threads: its shards grow
// with the number of pages. Like the kernels of the NAS Parallel Benchmarks, it has a parallel
// region for each loop.
#include <stdio.h>
#include <stdlib.h>

static void average(const double* from, double* to, size_t count) {
#pragma omp parallel for
    for (size_t i = 1; i < count - 1; ++i) to[i] = (from[i - 1] + from[i] + from[i + 1]) / 3;
}

int main(int argc, char** argv) {
    const size_t count = (argc > 1 ? strtoul(argv[1], NULL, 10) : 16) << 17;
    double* old = malloc(count * sizeof(double));
    double* next = malloc(count * sizeof(double));
#pragma omp parallel for
    for (size_t i = 0; i < count; ++i) old[i] = next[i] = (double)(i % 97);
    for (int step = 0; step < 2; ++step) {
        average(old, next, count);
        average(next, old, count);
    }
    printf("%g\n", old[count / 2]);
    free(old);
    free(next);
    return 0;
}
