// SPDX-License-Identifier: Apache-2.0
// Common code of the labelled programs in C and C++.
#pragma once

#include <stddef.h>

#ifndef LABELLED_SWEEPS
#define LABELLED_SWEEPS 6
#endif

// Elements of an array of 1 MiB, and how often a program goes over it: more than any core's cache
// holds; the recording still takes only a tenth of a second. A recorder that samples needs more.
enum { N = 1 << 17, SWEEPS = LABELLED_SWEEPS, THREADS = 4 };

static inline unsigned next_random(unsigned* state) {
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

// The thread that takes a chunk in a repetition: like a dynamic schedule, but the same in every
// run.
static inline int drawn_thread(unsigned chunk, unsigned repetition, unsigned threads) {
    unsigned state = chunk * 2654435761U ^ (repetition + 1) * 2246822519U;
    state ^= state >> 15;
    state *= 2654435761U;
    state ^= state >> 13;
    return (int)(state % threads);
}
