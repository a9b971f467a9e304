// SPDX-License-Identifier: Apache-2.0
// Sparse matrix-matrix product C = A B after Gustavson: a symbolic pass, then numeric passes.
// OpenMP, four threads; A has compressed rows that are sorted by length, B has eight entries in
// each row.
// label: b_val = shared, read-mostly
// Why: the columns of A are random, so each thread reads rows of B everywhere; B does not change.
// action: b_val = copy|spread
// label: b_col = shared, read-mostly
// Why: it is read together with b_val.
// action: b_col = copy|spread
// label: a_val = serial first touch
// Why: main builds A alone, and each thread then reads only its own rows of A.
// action: a_val = local|parallelise the existing loop
// label: a_col = serial first touch
// Why: it is built and read together with a_val.
// action: a_col = local|parallelise the existing loop
// label: c_col = partitioned
// Why: the symbolic pass writes it first, with the division of the numeric passes.
// label: c_val = partitioned
// Why: the first numeric pass writes it, with the division of all later ones.
// label: acc = partitioned
// Why: each thread allocates and uses its own accumulator.
// label: mark = partitioned
// Why: each thread allocates and uses its own markers.
// label: run = load imbalance
// Why: equal numbers of rows, but the first quarter of them has more than half of the products.
// action: run = balance
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 32768, PER_ROW = 8, PASSES = 4 };

static int *a_ptr, *a_col, *b_col, *c_ptr, *c_col;
static double *a_val, *b_val, *c_val;

static uint32_t random_state = 2463534242u;
static uint32_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    return random_state ^= random_state << 5;
}

static int length_of(int row) {
    double rest = 1.0 - (double)row / N;
    return 1 + (int)(16 * rest * rest * rest);
}

static void build(void) {
    a_ptr = malloc(sizeof(int) * (N + 1));
    a_ptr[0] = 0;
    for (int i = 0; i < N; i++) {
        a_ptr[i + 1] = a_ptr[i] + length_of(i);
    }
    a_col = malloc(sizeof(int) * a_ptr[N]);
    a_val = malloc(sizeof(double) * a_ptr[N]);
    for (int k = 0; k < a_ptr[N]; k++) {
        a_col[k] = (int)(next_random() % N);
        a_val[k] = 1.0 + k % 3;
    }
    b_col = malloc(sizeof(int) * N * PER_ROW);
    b_val = malloc(sizeof(double) * N * PER_ROW);
    for (int k = 0; k < N * PER_ROW; k++) {
        b_col[k] = (int)(next_random() % N);
        b_val[k] = 1.0 + k % 5;
    }
}

// Counts the columns of each row of C; writes them too, if `c_col` exists.
static void symbolic(void) {
#pragma omp parallel
    {
        int* mark = malloc(sizeof(int) * N);
        for (int j = 0; j < N; j++) {
            mark[j] = -1;
        }
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            int count = 0, base = c_col ? c_ptr[i] : 0, last = a_ptr[i + 1];
            for (int k = a_ptr[i]; k < last; k++) {
                const int* row = &b_col[a_col[k] * PER_ROW];
                for (int m = 0; m < PER_ROW; m++) {
                    if (mark[row[m]] != i) {
                        mark[row[m]] = i;
                        if (c_col) {
                            c_col[base + count] = row[m];
                        }
                        count++;
                    }
                }
            }
            if (!c_col) {
                c_ptr[i + 1] = count;
            }
        }
        free(mark);
    }
}

static void numeric(double scale) {
#pragma omp parallel
    {
        double* acc = malloc(sizeof(double) * N);
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            for (int j = c_ptr[i]; j < c_ptr[i + 1]; j++) {
                acc[c_col[j]] = 0;
            }
            for (int k = a_ptr[i]; k < a_ptr[i + 1]; k++) {
                double factor = scale * a_val[k];
                int row = a_col[k] * PER_ROW;
                for (int m = 0; m < PER_ROW; m++) {
                    acc[b_col[row + m]] += factor * b_val[row + m];
                }
            }
            for (int j = c_ptr[i]; j < c_ptr[i + 1]; j++) {
                c_val[j] = acc[c_col[j]];
            }
        }
        free(acc);
    }
}

int main(void) {
    omp_set_num_threads(4);
    build();
    c_ptr = malloc(sizeof(int) * (N + 1));
    symbolic();
    c_ptr[0] = 0;
    for (int i = 0; i < N; i++) {
        c_ptr[i + 1] += c_ptr[i];
    }
    c_col = malloc(sizeof(int) * c_ptr[N]);
    c_val = malloc(sizeof(double) * c_ptr[N]);
    symbolic();
    for (int pass = 1; pass <= PASSES; pass++) {
        numeric(pass);
    }
    double sum = 0, wanted = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, wanted)
    for (int i = 0; i < N; i++) {
        for (int j = c_ptr[i]; j < c_ptr[i + 1]; j++) {
            sum += c_val[j];
        }
        for (int k = a_ptr[i]; k < a_ptr[i + 1]; k++) {
            for (int m = 0; m < PER_ROW; m++) {
                wanted += PASSES * a_val[k] * (1.0 + (a_col[k] * PER_ROW + m) % 5);
            }
        }
    }
    printf("%d entries, sum %.0f, wanted %.0f\n", c_ptr[N], sum, wanted);
    return sum != wanted;
}
