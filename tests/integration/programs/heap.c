// SPDX-License-Identifier: Apache-2.0
// Heap blocks by every allocation function, each assigned to a variable of its own and accessed a
// number of times that no other has. Blocks are big enough to be mappings of their own, and stay
// so: the threshold is fixed. Prints as JSON whether `reused` got the address of `retired`.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "kernels.h"

enum { BLOCK = 64 * PAGE, WORDS_PER_BLOCK = BLOCK / 8 };

static void *plain, *zeroed, *aligned, *posix_aligned, *mem_aligned, *mapped;
static void *retired, *reused, *growing, *grown;

static void allocate_and_access(void) {
    plain = malloc(BLOCK);
    write_strided(plain, WORDS_PER_BLOCK, 8);
    zeroed = calloc(WORDS_PER_BLOCK, 8);  // fresh zero pages: calloc does not write them
    read_strided(zeroed, WORDS_PER_BLOCK, 8);
    aligned = aligned_alloc(PAGE, BLOCK);
    write_strided(aligned, WORDS_PER_BLOCK / 2, 16);
    if (posix_memalign(&posix_aligned, PAGE, BLOCK) != 0) exit(1);
    add_strided(posix_aligned, WORDS_PER_BLOCK, 8);
    mem_aligned = memalign(PAGE, BLOCK);
    read_strided(mem_aligned, WORDS_PER_BLOCK / 4, 32);
    mapped = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    write_strided(mapped, WORDS_PER_BLOCK, 8);
    read_strided(mapped, WORDS_PER_BLOCK, 8);
}

static void reuse_addresses(void) {
    retired = aligned_alloc(PAGE, BLOCK);
    uintptr_t retired_address = (uintptr_t)retired;
    write_strided(retired, WORDS_PER_BLOCK, 8);
    free(retired);
    reused = aligned_alloc(PAGE, BLOCK);
    read_strided(reused, WORDS_PER_BLOCK / 2, 16);
    printf("{\"same_address\": %s, ", retired_address == (uintptr_t)reused ? "true" : "false");
}

static void reallocate(void) {
    growing = malloc(BLOCK);
    write_strided(growing, WORDS_PER_BLOCK, 8);
    grown = realloc(growing, 4 * BLOCK);  // the kernel moves the pages: nothing is copied
    read_strided(grown, 4 * WORDS_PER_BLOCK, 8);
}

int main(void) {
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    allocate_and_access();
    reuse_addresses();
    reallocate();
    printf("\"pages\": %d}\n", BLOCK / PAGE);
    munmap(mapped, BLOCK);
    free(grown);
    free(reused);
    free(mem_aligned);
    free(posix_aligned);
    free(aligned);
    free(zeroed);
    free(plain);
    return 0;
}
