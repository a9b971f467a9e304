// SPDX-License-Identifier: Apache-2.0
// As computing.c, but with few steps for each point: memory takes a large part of the time.
// label: points = serial first touch
// action: points = local
#include <stdlib.h>

#include "labelled.h"

#define POINTS (1 << 20)

int main(void) {
    double* points = malloc(POINTS * sizeof *points);
    for (int i = 0; i < POINTS; i++) points[i] = 1.0 / (i + 1);
    for (int round = 0; round < 8; round++) {
#pragma omp parallel for num_threads(4)
        for (int i = 0; i < POINTS; i++) {
            double x = points[i];
            for (int step = 0; step < 4; step++) x = x * 0.99 + 0.001;
            points[i] = x;
        }
    }
    return points[7] > 1e9;
}
