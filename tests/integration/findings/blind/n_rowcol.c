// SPDX-License-Identifier: Apache-2.0
// Threads work on rows, and later on columns. What only columns use was touched first by rows.
// label: grid = pages change users
// action: grid = divide | spread
// label: rhs = remote first touch
// action: rhs = local
/* Alternating direction relaxation: first all row passes, then all column passes. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 1024
#define COLS 2048
#define PASSES 20

int main(int argc, char** argv) {
    if (argc > 1)
        omp_set_num_threads(atoi(argv[1]));
    else if (!getenv("OMP_NUM_THREADS"))
        omp_set_num_threads(4);

    size_t bytes = sizeof(double) * ROWS * COLS;
    double (*grid)[COLS] = aligned_alloc(4096, bytes);
    double (*rhs)[COLS] = aligned_alloc(4096, bytes);
    double *rowsum = malloc(sizeof(double) * ROWS), total = 0;

#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLS; j++) {
                grid[i][j] = (i * 7 + j * 3) % 29;
                rhs[i][j] = (i + 2 * j) % 5 * 0.01;
            }

        for (int p = 0; p < PASSES; p++) {
#pragma omp for schedule(static)
            for (int i = 0; i < ROWS; i++) {
                double s = 0;
                for (int j = 1; j < COLS; j++) {
                    grid[i][j] = 0.7 * grid[i][j] + 0.3 * grid[i][j - 1];
                    s += grid[i][j];
                }
                rowsum[i] = s;
            }
        }

        int t = omp_get_thread_num(), nt = omp_get_num_threads();
        int lo = COLS * t / nt, hi = COLS * (t + 1) / nt;
        for (int p = 0; p < PASSES; p++) {
            for (int i = 1; i < ROWS; i++)
                for (int j = lo; j < hi; j++)
                    grid[i][j] = 0.7 * grid[i][j] + 0.3 * grid[i - 1][j] + rhs[i][j];
#pragma omp barrier
        }
        double s = 0;
        for (int j = lo; j < hi; j++) s += grid[ROWS - 1][j];
#pragma omp atomic
        total += s;
#pragma omp barrier
#pragma omp for schedule(static) reduction(+ : total)
        for (int i = 0; i < ROWS; i++) total += rowsum[i] * 1e-3;
    }
    printf("total %.6f\n", total);
    free(grid);
    free(rhs);
    free(rowsum);
    return 0;
}
