// SPDX-License-Identifier: Apache-2.0
// 100 phases of a program that touches 100 MB: each phase adds two fields of 50 MB, once over all
// elements, in one parallel region. With DISTINCT 1 each is a phase of its own, marked; with 0 they
// are repetitions of the same region. Usage: phases [DISTINCT [PHASES]], both plus 1
#include "numascape/phase.h"
#include "size.h"

enum { ELEMENTS = 50000000 / sizeof(double) };

static double a[ELEMENTS], b[ELEMENTS];

int main(int argc, char** argv) {
    const int distinct = size_argument(argc, argv, 1, 1) == 2;
    const long phases = size_argument(argc, argv, 2, 101) - 1;
    for (long i = 0; i < ELEMENTS; i++) b[i] = (double)(i % 5);
    for (long phase = 0; phase < phases; phase++) {
        char name[32];
        if (distinct) {
            snprintf(name, sizeof name, "step %ld", phase);
            numascape_phase(name);
        }
#pragma omp parallel for schedule(static)
        for (long i = 0; i < ELEMENTS; i++) a[i] += b[i];
    }
    for (long i = 0; i < ELEMENTS; i++)
        if (a[i] != (double)(phases * (i % 5))) return 1;
    printf("phases: %ld, correct\n", phases);
    return 0;
}
