// SPDX-License-Identifier: Apache-2.0
// Gauss-Seidel sweeps over a square, as a wavefront of blocks.
// OpenMP tasks with dependences, four threads: any thread takes any block that is ready.
// label: u = pages change users
// Why: rows are set in a static division, but in each sweep another thread takes a block, and four
// blocks share a page.
// action: u = divide|spread
// harm: u = copy
// label: rhs = pages change users
// Why: it is read by the tasks of the blocks, so its pages go from thread to thread as those of u.
// action: rhs = divide|spread
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1024, BLOCK = 128, BLOCKS = N / BLOCK, SWEEPS = 8, S = N + 2 };

static double *u, *rhs;
char done[BLOCKS + 2][BLOCKS + 2];  // names the dependences only
#define AT(y, x) ((size_t)(y) * S + (x))

static void set_up(void) {
    u = malloc(sizeof(double) * S * S);
    rhs = malloc(sizeof(double) * S * S);
#pragma omp parallel for schedule(static)
    for (int y = 0; y < S; y++) {
        for (int x = 0; x < S; x++) {
            u[AT(y, x)] = 0;
            rhs[AT(y, x)] = sin(0.01 * y) * sin(0.02 * x);
        }
    }
}

static void relax(int by, int bx) {
    for (int y = by * BLOCK + 1; y <= (by + 1) * BLOCK; y++) {
        for (int x = bx * BLOCK + 1; x <= (bx + 1) * BLOCK; x++) {
            u[AT(y, x)] = 0.25 * (u[AT(y - 1, x)] + u[AT(y + 1, x)] + u[AT(y, x - 1)] +
                                  u[AT(y, x + 1)] + rhs[AT(y, x)]);
        }
    }
}

// A block waits for its upper and left neighbours of this sweep, and for its lower and right ones
// of the last.
static void sweep_all(void) {
#pragma omp parallel
#pragma omp single
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int by = 0; by < BLOCKS; by++) {
            for (int bx = 0; bx < BLOCKS; bx++) {
#pragma omp task firstprivate(by, bx) depend(in : done[by][bx + 1], done[by + 1][bx]) \
    depend(in : done[by + 2][bx + 1], done[by + 1][bx + 2]) depend(inout : done[by + 1][bx + 1])
                relax(by, bx);
            }
        }
    }
}

static double residual(void) {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int y = 1; y <= N; y++) {
        for (int x = 1; x <= N; x++) {
            double rest = u[AT(y - 1, x)] + u[AT(y + 1, x)] + u[AT(y, x - 1)] + u[AT(y, x + 1)] +
                          rhs[AT(y, x)] - 4 * u[AT(y, x)];
            sum += rest * rest;
        }
    }
    return sum;
}

// The same sweeps in the order of rows, of the upper left corner: all that block (0, 0) can depend
// on.
static int matches_serial(void) {
    enum { M = BLOCK + SWEEPS + 2 };
    static double check[M][M];
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int y = 1; y < M - 1; y++) {
            for (int x = 1; x < M - 1; x++) {
                check[y][x] = 0.25 * (check[y - 1][x] + check[y + 1][x] + check[y][x - 1] +
                                      check[y][x + 1] + rhs[AT(y, x)]);
            }
        }
    }
    for (int y = 1; y <= BLOCK / 2; y++) {
        for (int x = 1; x <= BLOCK / 2; x++) {
            if (check[y][x] != u[AT(y, x)]) {
                return 0;
            }
        }
    }
    return 1;
}

int main(void) {
    omp_set_num_threads(4);
    set_up();
    double before = residual();
    sweep_all();
    double after = residual();
    int same = matches_serial();
    printf("residual %.6e, then %.6e, %s\n", before, after, same ? "exact" : "wrong");
    free(u);
    free(rhs);
    return !(after < before && same);
}
