// SPDX-License-Identifier: Apache-2.0
// One thread uses two small variables very often: a counter, and a table at places all over it.
#include <stdint.h>

enum { ENTRIES = 200, REPEATS = 200000 };

static volatile uint64_t counter;
static volatile uint64_t neighbours[64];
static volatile uint64_t table[ENTRIES] = {1};

int main(void) {
    for (int i = 0; i < 64; i++) neighbours[i] = 1;
    for (int i = 0; i < REPEATS; i++) counter = 1;
    for (int i = 0; i < REPEATS; i++) table[i * 7919 % ENTRIES] = 2;
    return 0;
}
