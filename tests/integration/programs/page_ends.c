// SPDX-License-Identifier: Apache-2.0
// Reads of each size at each address around a page's end; the array is named for the size. Also
// accesses whose addresses differ by constants, from addresses around the end.
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

#define GROUP_AROUND(bytes, instructions)                                      \
    char group_of_##bytes[2 * PAGE] __attribute__((aligned(4096)));            \
    static void use_group_of_##bytes(void) {                                   \
        char* const end = group_of_##bytes + PAGE;                             \
        for (char* at = end - bytes - BEFORE; at < end + BEHIND; at++) {       \
            __asm__ volatile(instructions : : [at] "r"(at) : "rax", "memory"); \
        }                                                                      \
    }

GROUP_AROUND(3, "movb (%[at]), %%al; movw %%ax, 1(%[at])")
GROUP_AROUND(17, "movq (%[at]), %%rax; movb %%al, 16(%[at])")
GROUP_AROUND(200,
             "movq 16(%[at]), %%rax; movl (%[at]), %%eax; addw %%ax, 99(%[at]); "
             "movq %%rax, 192(%[at]); movq 8(%[at]), %%rax")

int main(void) {
    read_1();
    read_2();
    read_4();
    read_8();
    read_16();
    use_group_of_3();
    use_group_of_17();
    use_group_of_200();
    return 0;
}
