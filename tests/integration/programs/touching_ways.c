// SPDX-License-Identifier: Apache-2.0
// Touches 2^DEPTH pages, each on a call path of its own.
// Usage: touching_ways DEPTH
#include <stdlib.h>

enum { WORDS = 512, MOST = 14 };

__attribute__((aligned(4096))) static volatile double pages[(1 << MOST) * WORDS];

// Separates the code before and after it: compilers would join equal calls.
#define BARRIER(text) __asm__ volatile("# " text::: "memory")

static void other_way(long way, long rest, long depth);

__attribute__((noinline)) static void one_way(long way, long rest, long depth) {
    if (depth == 0) {
        pages[way * WORDS] = 1;
    } else if (rest % 2 == 0) {
        BARRIER("first");
        other_way(way, rest / 2, depth - 1);
        BARRIER("behind the first");
    } else {
        BARRIER("second");
        other_way(way, rest / 2, depth - 1);
        BARRIER("behind the second");
    }
}

__attribute__((noinline)) static void other_way(long way, long rest, long depth) {
    if (depth == 0) {
        pages[way * WORDS] = 1;
    } else if (rest % 2 == 0) {
        BARRIER("third");
        one_way(way, rest / 2, depth - 1);
        BARRIER("behind the third");
    } else {
        BARRIER("fourth");
        one_way(way, rest / 2, depth - 1);
        BARRIER("behind the fourth");
    }
}

int main(int argc, char** argv) {
    const long depth = argc > 1 ? atol(argv[1]) : 1;
    if (depth > MOST) return 2;
    for (long way = 0; way < 1l << depth; way++) one_way(way, way, depth);
    return 0;
}
