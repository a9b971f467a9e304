// SPDX-License-Identifier: Apache-2.0
// Placed mappings that system calls move, or end in part and together with others; placed blocks of
// the heap then get their addresses. Mappings are called `grid`, blocks `block`. Prints "sound" if
// all is right.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGES = 256, BYTES = PAGES * 4096 };

#define CHECK(condition)                        \
    if (!(condition)) {                         \
        printf("wrong in line %d\n", __LINE__); \
        exit(1);                                \
    }

static char* map_grid(void* at) {
    const int fixed = at != NULL ? MAP_FIXED : 0;
    char* grid =
        mmap(at, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    CHECK(grid != MAP_FAILED);
    memset(grid, 1, BYTES);
    return grid;
}

static char* reserve(size_t bytes) {
    char* space = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(space != MAP_FAILED);
    return space;
}

static void use_blocks(void) {
    for (int i = 0; i < 8; i++) {
        volatile char* block = malloc(BYTES);
        CHECK(block != NULL);
        for (int at = 0; at < BYTES; at += 4096) block[at] = 1;
        free((char*)block);
    }
}

int main(void) {
    char* grid = map_grid(NULL);
    char* target = reserve(2 * BYTES);
    CHECK(mremap(grid, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
    use_blocks();  // where the mapping was
    CHECK(mremap(target, BYTES, (size_t)1 << 62, MREMAP_MAYMOVE) == MAP_FAILED);
    CHECK(munmap(target + 1, BYTES) != 0);
    use_blocks();

    char* all = reserve(2 * BYTES);
    grid = map_grid(all + BYTES);
    CHECK(grid == all + BYTES);
    CHECK(munmap(all, 2 * BYTES) == 0);  // the reserved memory, and the grid in it
    use_blocks();

    grid = map_grid(NULL);
    CHECK(munmap(grid, BYTES / 2) == 0);
    use_blocks();
    CHECK(grid[BYTES / 2] == 1 && target[0] == 1);
    printf("sound\n");
    return 0;
}
