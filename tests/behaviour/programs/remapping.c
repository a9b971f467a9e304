// SPDX-License-Identifier: Apache-2.0
// Memory grows and moves with its content, goes to a place that was kept for it, and shrinks.
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

#include "rounds.h"

enum { LARGEST = 16 << 20 };

static char* grow(char* memory, size_t bytes) {
    memory[0] = 1;
    memory[bytes - 1] = (char)(bytes / PAGE);
    char* moved = mremap(memory, bytes, 2 * bytes, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED && moved[0] == 1 && moved[bytes - 1] == (char)(bytes / PAGE));
    return moved;
}

static long work(void) {
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS;
    size_t bytes = PAGE;
    char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, -1, 0);
    CHECK(memory != MAP_FAILED);
    for (; bytes < LARGEST; bytes *= 2) memory = grow(memory, bytes);

    // If it cannot grow, nothing changes.
    CHECK(mremap(memory, bytes, (size_t)1 << 60, MREMAP_MAYMOVE) == MAP_FAILED);
    CHECK(memory[0] == 1 && memory[bytes / 2 - 1] == (char)(bytes / 2 / PAGE));

    char* place = mmap(NULL, bytes, PROT_NONE, kind | MAP_NORESERVE, -1, 0);
    CHECK(place != MAP_FAILED);
    CHECK(mremap(memory, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
    CHECK(place[0] == 1 && place[bytes / 2 - 1] == (char)(bytes / 2 / PAGE));
    CHECK(mremap(place, bytes, PAGE, 0) == place && place[0] == 1);
    CHECK(munmap(place, PAGE) == 0);
    return (long)bytes;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
