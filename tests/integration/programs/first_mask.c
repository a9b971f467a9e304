// SPDX-License-Identifier: Apache-2.0
// A register that only AVX-512 has is written before anything else uses AVX-512; a mask register
// is written in another block. Ends with 0 when the register kept its value, and at once with 0 on
// a processor without AVX-512 BW and VL.
#include "freestanding.h"

static unsigned char fives[32] __attribute__((aligned(32)));

static int has_avx512(void) {
    unsigned a = 1, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if ((c >> 27 & 1) == 0) return 0;  // the system saves extended state
    unsigned enabled, high;
    __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    a = 7, c = 0;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return (enabled & 0xe6) == 0xe6 && (b >> 30 & 1) && (b >> 31 & 1);
}

int freestanding_main(void) {
    for (unsigned i = 0; i < sizeof fives; i++) fives[i] = 5;
    if (!has_avx512()) return 0;
    unsigned equal;
    __asm__ volatile(
        "vpbroadcastb %[five], %%ymm16\n"  // no zmm register, no mask register
        "jmp 1f\n"
        "1: jmp 2f\n"
        "2: vpcmpeqb %[fives], %%ymm16, %%k1\n"
        "kmovd %%k1, %[equal]\n"
        : [equal] "=r"(equal)
        : [five] "r"(5), [fives] "m"(fives));
    return equal != 0xffffffff;
}
