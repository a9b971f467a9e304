// SPDX-License-Identifier: Apache-2.0
// Main fills the points, and the threads compute 4000 steps in registers for each of them. The last
// one stores each result eight times. So the threads hardly ever wait for memory, and do the
// same work, although their numbers of accesses differ.
// label: run = no NUMA problem
// action: run = none
// harm: run = balance
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
        for (int step = 0; step < 4000; step++) x = x * 0.99 + 0.001;
        const int times = i < POINTS / 4 * 3 ? 1 : 8;
        for (int time = 0; time < times; time++) *(volatile double*)&points[i] = x;
    }
    return points[7] > 1e9;
}
