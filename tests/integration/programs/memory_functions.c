// SPDX-License-Identifier: Apache-2.0
// The C library's memcpy, memmove, memset and memcmp on whole pages. The library may use any
// instructions, but must read or write all of each page, and all pages equally.
#include <string.h>

#include "kernels.h"

enum { PAGES = 64, BYTES = PAGES * PAGE };

#define PAGES_OF(name) char name[BYTES] __attribute__((aligned(4096)))
PAGES_OF(copied_from);
PAGES_OF(copied_to);
PAGES_OF(moved);
PAGES_OF(filled);
PAGES_OF(compared);
PAGES_OF(compared_with);

int main(void) {
    void* (*volatile copy)(void*, const void*, size_t) = memcpy;
    void* (*volatile move)(void*, const void*, size_t) = memmove;
    void* (*volatile fill)(void*, int, size_t) = memset;
    int (*volatile compare)(const void*, const void*, size_t) = memcmp;
    copy(copied_to, copied_from, BYTES);
    move(moved, moved + PAGE, BYTES - PAGE);
    fill(filled, 3, BYTES);
    return compare(compared, compared_with, BYTES);
}
