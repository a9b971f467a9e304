// SPDX-License-Identifier: Apache-2.0
// registers THREADS: until SIGUSR1, main and THREADS more threads set registers, do nothing for a
// while, and check that all are unchanged. These are the carry flag, x87 registers with their
// control word, mxcsr, and the vector and mask registers of the processor. The program has a System
// V segment, which the recorder follows. Prints "right" or the first register that changed, and
// ends with status 42.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>

enum { MOST_THREADS = 16, SPINS = 2000000, VECTORS = 32, MASKS = 8, X87 = 4 };

struct state {
    uint64_t vectors[VECTORS][8];
    uint64_t masks[MASKS];
    double x87[X87];
    uint32_t mxcsr;
    uint16_t x87_control;
    uint8_t carry;
};

static atomic_int stopped;
static _Atomic(const char*) changed;

static void stop(int number) {
    (void)number;
    atomic_store(&stopped, 1);
}

#define VECTORS_LOW(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define VECTORS_HIGH(X) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define MASK_REGISTERS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

#define LOAD_XMM(n) "movups 64*" #n "(%[in]), %%xmm" #n "\n"
#define SAVE_XMM(n) "movups %%xmm" #n ", 64*" #n "(%[out])\n"
#define LOAD_YMM(n) "vmovups 64*" #n "(%[in]), %%ymm" #n "\n"
#define SAVE_YMM(n) "vmovups %%ymm" #n ", 64*" #n "(%[out])\n"
#define LOAD_ZMM(n) "vmovups 64*" #n "(%[in]), %%zmm" #n "\n"
#define SAVE_ZMM(n) "vmovups %%zmm" #n ", 64*" #n "(%[out])\n"
#define LOAD_MASK(n) "kmovq 64*32+8*" #n "(%[in]), %%k" #n "\n"
#define SAVE_MASK(n) "kmovq %%k" #n ", 64*32+8*" #n "(%[out])\n"

// x87: four values and the control word. dec leaves the carry flag alone.
#define SPIN(load, save)                                                                          \
    __asm__ volatile(                                                                             \
        load                                                                                      \
        "fldcw %[control]\n ldmxcsr %[mxcsr]\n"                                                   \
        "fldl %[x0]\n fldl %[x1]\n fldl %[x2]\n fldl %[x3]\n"                                     \
        "cmpb $1, %[carry]\n cmc\n"                                                               \
        "1: dec %[spins]\n jnz 1b\n"                                                              \
        "setc %[carried]\n"                                                                       \
        "fstpl %[y3]\n fstpl %[y2]\n fstpl %[y1]\n fstpl %[y0]\n"                                 \
        "fnstcw %[control_after]\n stmxcsr %[mxcsr_after]\n" save "fninit\n"                      \
        : [spins] "+&r"(spins), [carried] "=&r"(after->carry), [y0] "=m"(after->x87[0]),          \
          [y1] "=m"(after->x87[1]), [y2] "=m"(after->x87[2]), [y3] "=m"(after->x87[3]),           \
          [control_after] "=m"(after->x87_control), [mxcsr_after] "=m"(after->mxcsr)              \
        : [in] "r"(before), [out] "r"(after), [x0] "m"(before->x87[0]), [x1] "m"(before->x87[1]), \
          [x2] "m"(before->x87[2]), [x3] "m"(before->x87[3]), [control] "m"(before->x87_control), \
          [mxcsr] "m"(before->mxcsr), [carry] "r"(before->carry)                                  \
        : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
          "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

static void spin(const struct state* before, struct state* after) {
    long spins = SPINS;
    const uint32_t usual = 0x1f80;
    memcpy(after, before, sizeof *after);  // missing in this processor
    if (__builtin_cpu_supports("avx512bw")) {
        SPIN(VECTORS_LOW(LOAD_ZMM) VECTORS_HIGH(LOAD_ZMM) MASK_REGISTERS(LOAD_MASK),
             VECTORS_LOW(SAVE_ZMM) VECTORS_HIGH(SAVE_ZMM) MASK_REGISTERS(SAVE_MASK) "vzeroupper\n");
    } else if (__builtin_cpu_supports("avx")) {
        SPIN(VECTORS_LOW(LOAD_YMM), VECTORS_LOW(SAVE_YMM) "vzeroupper\n");
    } else {
        SPIN(VECTORS_LOW(LOAD_XMM), VECTORS_LOW(SAVE_XMM));
    }
    __asm__ volatile("ldmxcsr %0" : : "m"(usual));
}

static void* keep(void* argument) {
    uint64_t number = 0x9e3779b97f4a7c15ull * ((uintptr_t)argument + 1);
    struct state before, after;
    while (!atomic_load(&stopped)) {
        uint64_t* words = (uint64_t*)before.vectors;
        for (unsigned i = 0; i < (sizeof before.vectors + sizeof before.masks) / 8; ++i)
            words[i] = number += 0x9e3779b97f4a7c15ull;
        for (int i = 0; i < X87; ++i) before.x87[i] = (double)(number >> 40) + i;
        before.mxcsr = 0x1f80 | 0x8000 | (uint32_t)(number >> 62) << 13;  // flush, round
        before.x87_control = (uint16_t)(0x37f | (number >> 61 & 3) << 10);
        before.carry = number >> 60 & 1;
        spin(&before, &after);
        const char* what = NULL;
        if (memcmp(before.vectors, after.vectors, sizeof before.vectors) != 0) what = "vectors";
        if (memcmp(before.masks, after.masks, sizeof before.masks) != 0) what = "masks";
        if (memcmp(before.x87, after.x87, sizeof before.x87) != 0) what = "x87";
        if (before.mxcsr != after.mxcsr) what = "mxcsr";
        if (before.x87_control != after.x87_control) what = "x87 control";
        if (before.carry != after.carry) what = "carry";
        if (what != NULL) atomic_store(&changed, what);
    }
    return NULL;
}

int main(int count, char* arguments[]) {
    const long others = count > 1 ? atol(arguments[1]) : 0;
    pthread_t threads[MOST_THREADS];
    signal(SIGUSR1, stop);
    const int segment = shmget(IPC_PRIVATE, 1 << 16, IPC_CREAT | 0600);
    if (segment < 0 || shmat(segment, NULL, 0) == (void*)-1) return 1;
    shmctl(segment, IPC_RMID, NULL);
    for (long t = 0; t < others; ++t) pthread_create(&threads[t], NULL, keep, (void*)(t + 1));
    puts("ready");
    fflush(stdout);
    keep(NULL);
    for (long t = 0; t < others; ++t) pthread_join(threads[t], NULL);
    const char* what = atomic_load(&changed);
    puts(what == NULL ? "right" : what);
    return 42;
}
