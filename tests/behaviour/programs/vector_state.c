// SPDX-License-Identifier: Apache-2.0
// The upper halves of the vector registers, which are zero and not in use, stay so: if a processor
// takes them as in use, its SSE instructions are slower. The processor tells which registers it
// takes as in use, if it has this instruction.
#include <cpuid.h>
#include <unistd.h>

#include "rounds.h"

enum { UPPER_HALVES = 1 << 2 | 1 << 6, LOOKS = 1000 };

static int tells(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX)) return 0;
    return __get_cpuid_count(13, 1, &a, &b, &c, &d) && (a & 1 << 2);
}

static int upper_halves_in_use(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (low & UPPER_HALVES) != 0;
}

static long work(void) {
    static int begun = 0;
    if (!tells()) return 0;
    if (!begun) {
        begun = 1;
        __asm__ volatile("vzeroupper");
    }
    int unused = 0;
    for (int i = 0; i < LOOKS; i++) {
        CHECK(getppid() > 0);
        unused += !upper_halves_in_use();
    }
    return unused > LOOKS / 2;
}

int main(int argc, char** argv) {
    (void)argv;
    return rounds(argc, work);
}
