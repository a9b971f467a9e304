// SPDX-License-Identifier: Apache-2.0
// Records of half a page, in an array that threads initialise in parallel. The work reaches them
// through an array of indices in random order: a page has two users, in no order, although the
// schedule of both loops is static.
// label: records = pages change users
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

enum { RECORDS = 1024, DOUBLES = 256 };

struct record {
    double value[DOUBLES];
};

int main(void) {
    struct record* records = aligned_alloc(4096, RECORDS * sizeof *records);
    static unsigned order[RECORDS];
    for (unsigned i = 0; i < RECORDS; i++) order[i] = i;
    unsigned state = 1;
    for (unsigned i = RECORDS - 1; i > 0; i--) {
        unsigned j = next_random(&state) % (i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
#pragma omp parallel for schedule(static)
    for (unsigned i = 0; i < RECORDS; i++)
        for (unsigned k = 0; k < DOUBLES; k++) records[i].value[k] = i + k;
    for (unsigned sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp parallel for schedule(static)
        for (unsigned i = 0; i < RECORDS; i++)
            for (unsigned k = 0; k < DOUBLES; k++) records[order[i]].value[k] += 1.0;
    }
    double sum = 0.0;
    for (unsigned i = 0; i < RECORDS; i++) sum += records[i].value[0];
    printf("%.0f\n", sum);
    free(records);
}
