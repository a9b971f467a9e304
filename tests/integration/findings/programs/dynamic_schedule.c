// SPDX-License-Identifier: Apache-2.0
// A dynamic schedule gives chunks of two pages to whoever is free: to others in each repetition.
// label: A = pages change users
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "labelled.h"

enum { CHUNK = 1024 };

int main(void) {
    double* A = malloc(N * sizeof *A);
    for (int sweep = 0; sweep < 10; sweep++) {
#pragma omp parallel for schedule(dynamic, CHUNK)
        for (int i = 0; i < N; i++) {
            // A chunk that takes long, also on a machine with fewer CPUs than threads.
            if (i % CHUNK == 0) usleep(50);
            A[i] = sweep == 0 ? i : 0.5 * A[i] + 1.0;
        }
    }
    printf("%g\n", A[N / 3]);
    free(A);
}
