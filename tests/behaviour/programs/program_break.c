// SPDX-License-Identifier: Apache-2.0
// The heap grows and shrinks by moving its end; returned memory is zero when it is used again.
#define _DEFAULT_SOURCE
#include "rounds.h"

enum { STEPS = 600, STEP = 64 * 1024 };

static long work(void) {
    long sum = 0;
    char* begin = sbrk(0);
    CHECK(begin != (void*)-1);
    for (int i = 0; i < STEPS; i++) {
        char* added = sbrk(STEP);
        CHECK(added != (void*)-1 && added == (char*)sbrk(0) - STEP);
        CHECK(added[100] == 0 && added[STEP - 1] == 0);
        added[100] = added[STEP - 1] = (char)i;
        sum += added[100];
        if (i % 3 == 2) CHECK(sbrk(-STEP) != (void*)-1);
    }
    const long grown = (char*)sbrk(0) - begin;
    CHECK(brk(begin) == 0 && sbrk(0) == begin);
    return 1000 * (grown / STEP) + sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
