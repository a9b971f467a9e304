// SPDX-License-Identifier: Apache-2.0
// Reads of each size at each address around a page's end; the array is named for the size.
#include "kernels.h"

enum { BEFORE = 24, BEHIND = 8 };

#define AROUND(bytes, instruction)                                                                 \
    char of_##bytes[2 * PAGE] __attribute__((aligned(4096)));                                      \
    static void read_##bytes(void) {                                                               \
        for (const char* at = of_##bytes + PAGE - BEFORE; at < of_##bytes + PAGE + BEHIND; at++) { \
            __asm__ volatile(instruction : : [at] "r"(at) : "rax", "xmm0");                        \
        }                                                                                          \
    }

AROUND(1, "movb (%[at]), %%al")
AROUND(2, "movw (%[at]), %%ax")
AROUND(4, "movl (%[at]), %%eax")
AROUND(8, "movq (%[at]), %%rax")
AROUND(16, "movups (%[at]), %%xmm0")

int main(void) {
    read_1();
    read_2();
    read_4();
    read_8();
    read_16();
    return 0;
}
