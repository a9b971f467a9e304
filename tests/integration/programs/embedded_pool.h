// SPDX-License-Identifier: Apache-2.0
// The pool for the allocators of embedded.c and embedded_library.c: one mapping, whose addresses
// are used again when all blocks are freed.
#ifndef NUMASCAPE_TEST_EMBEDDED_POOL_H
#define NUMASCAPE_TEST_EMBEDDED_POOL_H

#include <stddef.h>
#include <sys/mman.h>

enum { POOL = 4 << 20 };

static size_t used, blocks;

static inline void* take(size_t bytes) {
    static char* pool;
    if (pool == NULL)
        pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    used += bytes;
    blocks++;
    return pool + used - bytes;
}

static inline void give_back(void) {
    if (--blocks == 0) used = 0;
}

#endif
