// SPDX-License-Identifier: Apache-2.0
// An elimination. Its rows are divided anew in each step, and the first row is an argument of the
// function with the loop. So the pages change users, although the schedule is static.
// label: A = pages change users
// action: A = divide
// harm: A = copy
#include <stdlib.h>

#include "labelled.h"

#define ORDER 600

static double* A;

static void eliminate(int k) {
    const int first = k + 1;
#pragma omp parallel for schedule(static) num_threads(4)
    for (int i = first; i < ORDER; i++) {
        const double factor = A[i * ORDER + k] / A[k * ORDER + k];
        for (int j = k; j < ORDER; j++) A[i * ORDER + j] -= factor * A[k * ORDER + j];
    }
}

int main(void) {
    A = malloc(ORDER * ORDER * sizeof *A);
#pragma omp parallel for schedule(static) num_threads(4)
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++) A[i * ORDER + j] = i == j ? ORDER : 1.0 / (1 + i + j);
    for (int k = 0; k < ORDER - 1; k++) eliminate(k);
    return A[7] > 1e9;
}
