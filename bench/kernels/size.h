// SPDX-License-Identifier: Apache-2.0
// The kernels' command line: one or two whole numbers.
#ifndef NUMASCAPE_BENCH_SIZE_H
#define NUMASCAPE_BENCH_SIZE_H

#include <stdio.h>
#include <stdlib.h>

// Argument `index`, or `otherwise` if it is not given; ends with status 2 if it is below 1.
static inline long size_argument(int argc, char** argv, int index, long otherwise) {
    long size = index < argc ? strtol(argv[index], NULL, 10) : otherwise;
    if (size < 1) {
        fprintf(stderr, "%s: argument %d must be a whole number from 1\n", argv[0], index);
        exit(2);
    }
    return size;
}

#endif
