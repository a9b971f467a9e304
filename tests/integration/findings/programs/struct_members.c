// SPDX-License-Identifier: Apache-2.0
// The members of one global structure are used in different ways.
// label: grid.old = serial first touch
// label: grid.now = partitioned
// label: grid.weight = serial first touch
#include <omp.h>
#include <stdio.h>

#include "labelled.h"

static struct {
    int steps;
    double old[N];
    double scale;
    double now[N];
    double weight[N];
} grid;

int main(void) {
    grid.scale = 0.5;
    for (int i = 0; i < N; i++) grid.old[i] = i;
    for (int i = 0; i < N; i++) grid.weight[i] = 1.0 / (i + 1);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) grid.now[i] = 0.0;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) grid.now[i] += grid.scale * grid.old[i] * grid.weight[i];
        grid.steps++;
    }
    printf("%d %g\n", grid.steps, grid.now[N / 2]);
}
