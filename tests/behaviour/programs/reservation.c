// SPDX-License-Identifier: Apache-2.0
// Half of the address space is reserved, and single pages in it are used.
#define _GNU_SOURCE
#include <sys/mman.h>

#include "rounds.h"

enum { PAGES = 64 };

static const size_t APART = (size_t)1 << 40;

static long work(void) {
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    long sum = 0;
    char* reserved = mmap(NULL, PAGES * APART, PROT_NONE, kind, -1, 0);
    CHECK(reserved != MAP_FAILED);
    for (int i = 0; i < PAGES; i++) {
        char* page = reserved + i * APART + (size_t)PAGE * i;
        CHECK(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0);
        page[7] = (char)i;
        sum += page[7];
    }
    CHECK(munmap(reserved, PAGES * APART) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
