// SPDX-License-Identifier: Apache-2.0
// A block of 3 GiB, of which little is touched. The kernel joins it with the storage of the main
// thread above it, in one mapping.
#include "rounds.h"

static const size_t kBytes = (size_t)3 << 30;
static const size_t kStep = (size_t)1 << 28;

static char* block;

static long work(void) {
    long sum = 0;
    for (size_t at = 0; at < kBytes; at += kStep) {
        block[at] = (char)(at / kStep);
        sum += block[at];
    }
    return sum;
}

int main(int count, char** words) {
    (void)words;
    block = malloc(kBytes);
    CHECK(block != NULL);
    return rounds(count, work);
}
