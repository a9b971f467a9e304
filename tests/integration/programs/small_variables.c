// SPDX-License-Identifier: Apache-2.0
// One thread uses two small variables very often: a counter, and a table at places all over it. It
// reads a string literal and a constant table as often: only the table has a symbol.
#include <stdint.h>

enum { ENTRIES = 200, REPEATS = 200000 };

static volatile uint64_t counter;
static volatile uint64_t neighbours[64];
static volatile uint64_t table[ENTRIES] = {1};
static const uint64_t factors[8] = {2, 3, 5, 7, 11, 13, 17, 19};

#define TIMES4(text) text text text text
#define LINES4 TIMES4(TIMES4("0123456789abcdef"))  // four cache lines
#define LITERAL TIMES4(LINES4) TIMES4(LINES4)

int main(void) {
    for (int i = 0; i < 64; i++) neighbours[i] = 1;
    for (int i = 0; i < REPEATS; i++) counter = 1;
    for (int i = 0; i < REPEATS; i++) table[i * 7919 % ENTRIES] = 2;
    const volatile char* literal = LITERAL;
    for (int i = 0; i < REPEATS; i++) (void)literal[i * 7919 % (sizeof LITERAL - 1)];
    const volatile uint64_t* factor = factors;
    for (int i = 0; i < REPEATS; i++) (void)factor[i % 8];
    return 0;
}
