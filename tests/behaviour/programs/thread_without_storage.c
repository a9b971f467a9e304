// SPDX-License-Identifier: Apache-2.0
// A thread without any thread-local storage runs code that another thread replaces.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "rounds.h"

enum { STACK = 64 * 1024, TIMES = 50, LIMIT = 100000 };

static char stack[STACK] __attribute__((aligned(16)));
static unsigned char* code;
// Main makes the turn odd, the thread makes it even.
static volatile int turn, result, ended;

// The C library's function would set errno, which is in thread-local storage.
static long call(long number, long first, long second) {
    long value;
    __asm__ volatile("syscall"
                     : "=a"(value)
                     : "a"(number), "D"(first), "S"(second)
                     : "rcx", "r11", "memory");
    return value;
}

static int run(void* unused) {
    (void)unused;
    call(SYS_arch_prctl, ARCH_SET_FS, 0);
    for (int i = 0; i < TIMES; i++) {
        while (turn != 2 * i + 1) call(SYS_sched_yield, 0, 0);
        result = ((int (*)(void))code)();
        __atomic_store_n(&turn, 2 * i + 2, __ATOMIC_SEQ_CST);
    }
    call(SYS_exit, 0, 0);
    return 0;
}

// mov $number, %eax; ret. Each time in fresh memory at the same place.
static void generate(int number) {
    unsigned char instructions[] = {0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(instructions + 1, &number, sizeof number);
    CHECK(munmap(code, PAGE) == 0);
    CHECK(mmap(code, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1,
               0) == code);
    memcpy(code, instructions, sizeof instructions);
    CHECK(mprotect(code, PAGE, PROT_READ | PROT_EXEC) == 0);
}

static long work(void) {
    const int thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                       CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;
    int* const id = (int*)&ended;
    long sum = 0;

    code = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED);
    turn = 0;
    CHECK(clone(run, stack + STACK, thread, NULL, id, NULL, id) > 0);
    for (int i = 0; i < TIMES; i++) {
        generate(i);
        __atomic_store_n(&turn, 2 * i + 1, __ATOMIC_SEQ_CST);
        while (turn != 2 * i + 2) sched_yield();
        CHECK(result == i);
        sum += result;
    }
    // The kernel clears it when the thread has left its stack.
    for (int i = 0; __atomic_load_n(&ended, __ATOMIC_SEQ_CST) != 0; i++) {
        CHECK(i < LIMIT);
        usleep(1000);
    }
    CHECK(munmap(code, PAGE) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
