// SPDX-License-Identifier: Apache-2.0
// Arrays whose pages this program puts on nodes in known ways, and the nodes that the kernel
// reports. Made for a machine with nodes 0 to 3, node n having CPU n, and node 4 without CPUs.
#pragma once

#include <stdint.h>

enum {
    PAGE = 4096,
    WORDS_PER_PAGE = PAGE / 8,
    NODES = 4,  // with CPUs
    MEMORY_NODE = 4,
    QUARTER = 16,  // pages
    PAGES = NODES * QUARTER,
    BYTES = PAGES * PAGE,
};

// One access to each word in the machine code.
typedef volatile uint64_t* Words;

void fail(const char* what);

// From now on, this thread runs only on `cpu`.
void pin(int cpu);

void write_pages(Words array, int first, int end);
void read_pages(Words array, int first, int end);

// Prints "name: n n n ...", the nodes of `pages` pages from the one in which `start` lies, as
// move_pages(2) reports; a negative number is its error.
void report(const char* name, Words start, int pages);

// Thread t, on CPU t from its beginning: writes quarter t of the first three arrays,
// and when all have, reads quarter t + 1 of `mapped` and writes quarter t of the others.
struct Arrays {
    Words mapped, allocated, global;
    Words read_before, renewed, shared_read_before;
};
void run_quarters(const struct Arrays* arrays);

// A thread that is on CPU 0 until the process ends.
void start_rester(void);

// A thread that is on CPU 1, then on CPU 2 for some seconds, then on CPU 3.
void start_wanderer(void);
void join_wanderer(void);
