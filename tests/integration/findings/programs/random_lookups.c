// SPDX-License-Identifier: Apache-2.0
// All threads look up random entries of a table that they only read, each for its own keys. There
// are few lookups in each page, so the threads' shares of a page differ by chance.
// label: table = shared, read-mostly
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

enum { ENTRIES = 8 * N, LOOKUPS = 5000 };

int main(void) {
    long* table = (long*)malloc(ENTRIES * sizeof(long));
    long total = 0;
    for (long i = 0; i < ENTRIES; i++) table[i] = i * 7;
#pragma omp parallel num_threads(THREADS) reduction(+ : total)
    {
        unsigned state = 17 + (unsigned)omp_get_thread_num();
        for (int i = 0; i < LOOKUPS; i++) total += table[next_random(&state) % ENTRIES];
    }
    printf("%ld\n", total);
    free(table);
}
