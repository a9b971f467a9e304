// SPDX-License-Identifier: Apache-2.0
// C = A x B on page-aligned globals, by columns: thread t of T computes columns t, t + T, ...
// A and B are read n^3 times each, C is written n^2 times. The three threads_*.c* programs share
// it and differ in how they start their threads.
#ifndef NUMASCAPE_TEST_COLUMNS_H
#define NUMASCAPE_TEST_COLUMNS_H

#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { MAX_N = 128 };

double A[MAX_N * MAX_N] __attribute__((aligned(4096)));
double B[MAX_N * MAX_N] __attribute__((aligned(4096)));
double C[MAX_N * MAX_N] __attribute__((aligned(4096)));

static long n, threads;

static void multiply_columns(long thread) {
    for (long j = thread; j < n; j += threads)
        for (long i = 0; i < n; i++) store(&C[i * n + j], dot_column(&A[i * n], &B[j], n));
}

static void read_arguments(int argc, char** argv) {
    n = argc > 2 ? atol(argv[1]) : 0;
    threads = argc > 2 ? atol(argv[2]) : 0;
    if (n < 1 || n > MAX_N || threads < 1) {
        fprintf(stderr, "usage: %s N THREADS, N at most %d\n", argv[0], MAX_N);
        exit(2);
    }
}

#endif
