// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest_program.h"

enum { ACCESS = PROT_READ | PROT_WRITE, PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS };
enum { HUGE_PAGE = 2 << 20, PAGES_PER_HUGE_PAGE = HUGE_PAGE / PAGE };

static uint64_t global[PAGES * WORDS_PER_PAGE] __attribute__((aligned(PAGE)));

void report(const char* name, Words start, int pages) {
    void* addresses[PAGES_PER_HUGE_PAGE];
    int nodes[PAGES_PER_HUGE_PAGE];
    for (int i = 0; i < pages; i++)
        addresses[i] = (char*)((uintptr_t)start & -(uintptr_t)PAGE) + (long)i * PAGE;
    if (syscall(SYS_move_pages, 0, (long)pages, addresses, NULL, nodes, 0) < 0) fail("move_pages");
    printf("%s:", name);
    for (int i = 0; i < pages; i++) printf(" %d", nodes[i]);
    printf("\n");
}

static void set_policy(Words array, int mode, unsigned long nodes) {
    if (syscall(SYS_mbind, array, (long)BYTES, mode, &nodes, 8 * sizeof nodes, 0) != 0)
        fail("mbind");
}

static void use_policies(void) {
    Words interleaved = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    set_policy(interleaved, MPOL_INTERLEAVE, 0xf);
    write_pages(interleaved, 0, PAGES);
    report("interleaved", interleaved, PAGES);

    Words bound = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    set_policy(bound, MPOL_BIND, 1 << MEMORY_NODE);
    write_pages(bound, 0, PAGES);
    report("bound", bound, PAGES);
}

// Page i goes to node i mod 4 after it was first touched elsewhere.
static void migrate(void) {
    Words migrated = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    write_pages(migrated, 0, PAGES);
    void* addresses[PAGES];
    int targets[PAGES];
    int results[PAGES];
    for (int i = 0; i < PAGES; i++) {
        addresses[i] = (char*)migrated + (long)i * PAGE;
        targets[i] = i % NODES;
    }
    if (syscall(SYS_move_pages, 0, (long)PAGES, addresses, targets, results, MPOL_MF_MOVE) != 0)
        fail("move_pages");
    report("migrated", migrated, PAGES);
}

// Memory that does not exist at the end of the run. A second block replaces the first one.
static void give_back(void) {
    pin(1);
    Words freed = aligned_alloc(PAGE, BYTES);
    write_pages(freed, 0, PAGES);
    report("freed", freed, PAGES);
    free((void*)freed);
    pin(3);
    Words follower = aligned_alloc(PAGE, BYTES);
    write_pages(follower, 0, PAGES);
    report("follower", follower, PAGES);

    pin(1);
    Words unmapped = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    write_pages(unmapped, 0, PAGES);
    report("unmapped", unmapped, PAGES);
    munmap((void*)unmapped, BYTES);

    Words shrunk = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    write_pages(shrunk, 0, PAGES);
    report("shrunk", shrunk, PAGES);
    munmap((char*)shrunk + QUARTER * PAGE, QUARTER * PAGE);
}

// The first access puts the whole huge page on its node; other nodes make the other accesses.
static void use_huge_page(void) {
    char* huge = mmap(NULL, 2 * HUGE_PAGE, ACCESS, PRIVATE, -1, 0);
    madvise(huge, 2 * HUGE_PAGE, MADV_HUGEPAGE);
    Words start = (Words)(((uintptr_t)huge + HUGE_PAGE - 1) & -(uintptr_t)HUGE_PAGE);
    pin(1);
    *start = 1;
    pin(3);
    for (int page = 1; page < PAGES_PER_HUGE_PAGE; page++) start[page * WORDS_PER_PAGE] = 1;
    report("huge", start, PAGES_PER_HUGE_PAGE);
}

int main(void) {
    start_rester();
    start_wanderer();
    pin(2);
    Words serial = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    write_pages(serial, 0, PAGES);
    Words only_read = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    read_pages(only_read, 0, PAGES);
    Words read_before = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    read_pages(read_before, 0, PAGES);
    Words shared_read_before = mmap(NULL, BYTES, ACCESS, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    read_pages(shared_read_before, 0, PAGES);
    Words renewed = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    write_pages(renewed, 0, PAGES);
    madvise((void*)renewed, BYTES, MADV_DONTNEED);
    use_policies();
    migrate();
    give_back();
    use_huge_page();

    Words mapped = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    Words allocated = malloc(BYTES);
    const struct Arrays arrays = {mapped,      allocated, global,
                                  read_before, renewed,   shared_read_before};
    run_quarters(&arrays);
    report("mapped", mapped, PAGES);
    report("allocated", allocated, PAGES + 1);
    report("global", global, PAGES);
    report("serial", serial, PAGES);
    report("only_read", only_read, PAGES);
    report("read_before", read_before, PAGES);
    report("renewed", renewed, PAGES);
    report("shared_read_before", shared_read_before, PAGES);
    join_wanderer();
    return 0;
}
