// SPDX-License-Identifier: Apache-2.0
// touches MIB WAY: touches each page of MIB of memory once, and prints the CPU time that this took.
// WAY 1: in one loop. WAY 2: by a recursion, each page from other calls than the one before it.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <time.h>

#include "size.h"

enum { PAGE = 4096 };

static double cpu_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void touch(volatile char* from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += PAGE) from[i] = 1;
}

__attribute__((noinline)) static void halve(volatile char* from, size_t bytes) {
    if (bytes <= PAGE) {
        *from = 1;
        return;
    }
    const size_t half = bytes / (2 * PAGE) * PAGE;
    halve(from, half);
    __asm__ volatile("# between the halves" ::: "memory");
    halve(from + half, bytes - half);
    __asm__ volatile("# behind them" ::: "memory");
}

int main(int argc, char** argv) {
    const size_t bytes = (size_t)size_argument(argc, argv, 1, 1024) << 20;
    const long way = size_argument(argc, argv, 2, 1);
    void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, bytes, MADV_NOHUGEPAGE) != 0) return 1;
    const double begin = cpu_seconds();
    if (way == 1) {
        touch(memory, bytes);
    } else {
        halve(memory, bytes);
    }
    printf("%.3f s\n", cpu_seconds() - begin);
    return 0;
}
