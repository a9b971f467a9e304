// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
    double s = 0;
    double* a = malloc(1000 * sizeof *a);
    for (int i = 0; i < 1000; i++) a[i] = i * argc;
    for (int i = 0; i < 1000; i++) s += a[i];
    printf("%g\n", s);
    return 0;
}
