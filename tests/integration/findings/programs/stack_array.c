// SPDX-License-Identifier: Apache-2.0
// A large array on the main thread's stack, which all threads work on.
// label: Stack#0 = stack shared with other threads
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

int main(void) {
    double shared[N];
    for (int i = 0; i < N; i++) shared[i] = i;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) shared[i] = 0.5 * shared[i] + 1.0;
    }
    printf("%g\n", shared[N / 3]);
}
