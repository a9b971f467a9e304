// SPDX-License-Identifier: Apache-2.0
// A large array on the stack of the main thread, which fills it; all threads work on it.
// label: shared = serial first touch
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
