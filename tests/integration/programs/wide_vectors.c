// SPDX-License-Identifier: Apache-2.0
// Wide vector registers hold values while memory is read line by line: prints which registers the
// processor has, and whether they kept their values.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4 << 20, REGISTERS = 16, WIDEST = 64 };

typedef unsigned char Registers[REGISTERS][WIDEST];

#define EACH(DO) \
    DO(0)        \
    DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
// One piece of assembly, so that no other code uses the registers between load and store.
#define WALK "1: addq (%[memory]), %[sum]\n addq $64, %[memory]\n cmpq %[end], %[memory]\n jb 1b\n"
#define LOAD_YMM(n) "vmovdqu " #n "*64(%[in]), %%ymm" #n "\n"
#define STORE_YMM(n) "vmovdqu %%ymm" #n ", " #n "*64(%[out])\n"
#define LOAD_ZMM(n) "vmovdqu64 " #n "*64(%[in]), %%zmm" #n "\n"
#define STORE_ZMM(n) "vmovdqu64 %%zmm" #n ", " #n "*64(%[out])\n"
#define CLOBBER(n) "xmm" #n,
#define KEPT_OVER(load, store)                                                       \
    __asm__ volatile(EACH(load) WALK EACH(store) "vzeroupper\n"                      \
                     : [memory] "+r"(at), [sum] "+r"(sum)                            \
                     : [in] "r"(before), [out] "r"(after), [end] "r"(memory + BYTES) \
                     : EACH(CLOBBER) "memory", "cc")

static char* memory;

static int kept_ymm(void) {
    Registers before, after;
    for (int i = 0; i < REGISTERS; i++) memset(before[i], i + 1, WIDEST);
    memset(after, 0, sizeof after);
    const char* at = memory;
    uint64_t sum = 0;
    KEPT_OVER(LOAD_YMM, STORE_YMM);
    int same = sum == 0;
    for (int i = 0; i < REGISTERS; i++) same = same && memcmp(before[i], after[i], 32) == 0;
    return same;
}

static int kept_zmm(void) {
    Registers before, after;
    for (int i = 0; i < REGISTERS; i++) memset(before[i], 100 + i, WIDEST);
    memset(after, 0, sizeof after);
    const char* at = memory;
    uint64_t sum = 0;
    KEPT_OVER(LOAD_ZMM, STORE_ZMM);
    return sum == 0 && memcmp(before, after, sizeof before) == 0;
}

int main(void) {
    memory = calloc(1, BYTES);
    if (memory == NULL) return 1;
    memset(memory, 0, BYTES);
    if (__builtin_cpu_supports("avx")) printf("ymm %s\n", kept_ymm() ? "kept" : "lost");
    if (__builtin_cpu_supports("avx512f")) printf("zmm %s\n", kept_zmm() ? "kept" : "lost");
    return 0;
}
