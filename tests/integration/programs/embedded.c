// SPDX-License-Identifier: Apache-2.0
// Contains jemalloc under names of its own. Each block has 64 pages, each word is written once;
// `order` has the addresses that `grid` had.
#include <stdint.h>

#include "embedded_pool.h"

enum { BYTES = 64 * 4096 };

void* make(size_t bytes);
void* make_exported(size_t bytes);

__attribute__((noinline)) void* je_mallocx(size_t bytes, int flags) {
    __asm__ volatile("" : : "r"(flags));
    return take(bytes);
}

__attribute__((noinline)) void je_sdallocx(void* block, size_t bytes, int flags) {
    __asm__ volatile("" : : "r"(block), "r"(bytes), "r"(flags));
    give_back();
}

static void fill(volatile uint64_t* words) {
    for (int i = 0; i < BYTES / 8; i++) words[i] = 1;
}

int main(void) {
    uint64_t* grid = je_mallocx(BYTES, 0);
    fill(grid);
    je_sdallocx(grid, BYTES, 0);
    uint64_t* order = je_mallocx(BYTES, 0);
    fill(order);
    uint64_t* table = make(BYTES);
    fill(table);
    uint64_t* queue = make_exported(BYTES);
    fill(queue);
    return 0;
}
