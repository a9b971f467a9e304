// SPDX-License-Identifier: Apache-2.0
// label: a = pages change users
// Why: The update of the panels right of k is dealt out from k + 1 on with schedule(static, 1),
// so that panel j belongs to another thread in each step k. The owner should follow from j
// alone.
// action: a = divide | spread
// harm: a = local | copy
// LU without pivoting, column-major, in panels of columns; the panels are dealt out in turn.
//   usage: lu_panels [n] [panel]
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int n = 640, width = 16;
static double* a;
#define A(i, j) a[(size_t)(j) * n + (i)]

static void factor_panel(int from, int to) {
    for (int k = from; k < to; k++) {
        double pivot = 1.0 / A(k, k);
        for (int i = k + 1; i < n; i++) A(i, k) *= pivot;
        for (int j = k + 1; j < to; j++) {
            double f = A(k, j);
            for (int i = k + 1; i < n; i++) A(i, j) -= A(i, k) * f;
        }
    }
}

static void update_panel(int from, int to, int left, int right) {
    for (int j = left; j < right; j++)
        for (int k = from; k < to; k++) {
            double f = A(k, j);
            for (int i = k + 1; i < n; i++) A(i, j) -= A(i, k) * f;
        }
}

int main(int argc, char** argv) {
    if (argc > 1) n = atoi(argv[1]);
    if (argc > 2) width = atoi(argv[2]);
    int panels = (n + width - 1) / width;
    a = malloc(sizeof(double) * n * n);
    if (!a) return 1;
#pragma omp parallel for schedule(static, 1)
    for (int p = 0; p < panels; p++)
        for (int j = p * width; j < n && j < (p + 1) * width; j++)
            for (int i = 0; i < n; i++) A(i, j) = i == j ? n : sin(1.0 + i * 3 + j * 7);
    for (int p = 0; p < panels; p++) {
        int from = p * width, to = from + width < n ? from + width : n;
        factor_panel(from, to);
#pragma omp parallel for schedule(static, 1)
        for (int q = p + 1; q < panels; q++) {
            int left = q * width, right = left + width < n ? left + width : n;
            update_panel(from, to, left, right);
        }
    }
    double logdet = 0;
    for (int k = 0; k < n; k++) logdet += log(fabs(A(k, k)));
    printf("log det %.6f\n", logdet);
    free(a);
    return 0;
}
