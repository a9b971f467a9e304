// SPDX-License-Identifier: Apache-2.0
// Memory that is returned to the kernel reads as zero, and can be used again.
#define _GNU_SOURCE
#include <sys/mman.h>

#include "rounds.h"

enum { BYTES = 8 << 20, TIMES = 4 };

static long work(void) {
    long sum = 0;
    char* memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    madvise(memory, BYTES, MADV_HUGEPAGE);  // not every kernel has these
    for (int time = 0; time < TIMES; time++) {
        for (int i = 0; i < BYTES; i += PAGE) memory[i] = (char)(time + 1);
        for (int i = 0; i < BYTES; i += PAGE) sum += memory[i];
        CHECK(madvise(memory, BYTES, time % 2 ? MADV_FREE : MADV_DONTNEED) == 0);
        for (int i = 0; time % 2 == 0 && i < BYTES; i += PAGE) CHECK(memory[i] == 0);
    }
    CHECK(munmap(memory, BYTES) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
