// SPDX-License-Identifier: Apache-2.0
// Blocks smaller than a page. Half of the last block is on the next page, where nothing else is.
// Each word of that half is written REPEATS times.
#include <stdint.h>
#include <stdlib.h>

enum { PAGE = 4096, BYTES = 2048, HALF = 1024, REPEATS = 100 };

int main(void) {
    char* crossing;
    do crossing = aligned_alloc(HALF, BYTES);
    while (crossing != NULL && (uintptr_t)crossing % PAGE != PAGE - HALF);
    if (crossing == NULL) return 2;
    volatile uint64_t* words = (volatile uint64_t*)(crossing + HALF);
    for (int i = 0; i < REPEATS * HALF / 8; i++) words[i % (HALF / 8)] = 1;
    return 0;
}
