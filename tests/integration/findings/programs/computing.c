// SPDX-License-Identifier: Apache-2.0
// Main fills the points, and the threads compute 4000 steps in registers for each of them, more for
// the last ones. So the threads hardly ever wait for memory. Accesses do not show the work of the
// last thread, but instructions do.
// label: run = load imbalance
// action: run = balance
// harm: points = local
#include <stdlib.h>

#include "labelled.h"

#define POINTS (1 << 17)

int main(void) {
    double* points = malloc(POINTS * sizeof *points);
    for (int i = 0; i < POINTS; i++) points[i] = 1.0 / (i + 1);
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < POINTS; i++) {
        double x = points[i];
        const int steps = i < POINTS / 4 * 3 ? 4000 : 20000;
        for (int step = 0; step < steps; step++) x = x * 0.99 + 0.001;
        points[i] = x;
    }
    return points[7] > 1e9;
}
