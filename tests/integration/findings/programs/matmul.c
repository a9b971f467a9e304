// SPDX-License-Identifier: Apache-2.0
// Two causes: all threads read B; C has rows per thread, and one thread initialises and checks it.
// label: B = shared, read-mostly
// label: C = serial first touch
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

enum { SIZE = 320 };

int main(void) {
    double* A = malloc(sizeof(double[SIZE][SIZE]));
    double* B = malloc(sizeof(double[SIZE][SIZE]));
    double* C = malloc(sizeof(double[SIZE][SIZE]));
    for (int i = 0; i < SIZE * SIZE; i++) {
        A[i] = i % 7;
        B[i] = i % 5;
        C[i] = 0.0;
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < SIZE; k += 2) {
            const double a = A[i * SIZE + k];
            for (int j = 0; j < SIZE; j++) C[i * SIZE + j] += a * B[k * SIZE + j];
        }
    double total = 0.0;
    for (int i = 0; i < SIZE * SIZE; i++) total += C[i];
    printf("%g\n", total);
    free(A);
    free(B);
    free(C);
}
