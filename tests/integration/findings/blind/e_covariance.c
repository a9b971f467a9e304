// SPDX-License-Identifier: Apache-2.0
// An exponentially weighted covariance matrix of 2000 shares, of which only the lower triangle is
// stored: row i has i + 1 numbers. Each day's returns update all of it. The static schedule gives
// every thread equally many rows, but the last rows are the longest: with four threads the last one
// does 1.75 times the mean work. The loop that clears the matrix has the same schedule, so its
// pages are right. The day's returns are 16 KB, in every core's cache.
// label: run = load imbalance
// action: run = balance
// label: covariance = partitioned
// label: returns = cache-resident
#include <stdio.h>
#include <stdlib.h>

enum { SHARES = 2000, DAYS = 60 };

static size_t row_start(int share) {
    return (size_t)share * (share + 1) / 2;
}

static void draw_returns(double* returns, int day) {
    for (int s = 0; s < SHARES; s++) {
        unsigned seed = (unsigned)(day * SHARES + s) * 2654435761u;
        returns[s] = (double)(seed >> 8) * 0x1p-24 - 0.5;
    }
}

static void update(double* covariance, const double* returns) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < SHARES; i++) {
        double* row = covariance + row_start(i);
        double mine = 0.06 * returns[i];
        for (int j = 0; j <= i; j++) row[j] = 0.94 * row[j] + mine * returns[j];
    }
}

int main(void) {
    double* covariance = malloc(sizeof(double) * row_start(SHARES));
    static double returns[SHARES];
    if (!covariance) return 1;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < SHARES; i++) {
        double* row = covariance + row_start(i);
        for (int j = 0; j <= i; j++) row[j] = 0;
    }
    for (int day = 0; day < DAYS; day++) {
        draw_returns(returns, day);
        update(covariance, returns);
    }
    double variance = 0;
    for (int i = 0; i < SHARES; i++) variance += covariance[row_start(i) + (size_t)i];
    printf("total variance %.6f\n", variance);
    free(covariance);
    return 0;
}
