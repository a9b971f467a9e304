// SPDX-License-Identifier: Apache-2.0
// Breakpoints whose handler returns: in a loop, with all registers in use, and in code that the
// program has just written.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "rounds.h"

enum { TIMES = 100, MARK = 0x123456789 };

static volatile sig_atomic_t handled;
static const unsigned char* volatile reached;
static long numbers[64];

static void on_breakpoint(int signal, siginfo_t* info, void* context) {
    (void)signal, (void)info;
    const greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    reached = (const unsigned char*)registers[REG_RIP];
    CHECK(reached[-1] == 0xcc);
    handled++;
}

// The jump lets a translated block of code begin with the breakpoint.
static long in_a_loop(void) {
    long sum = 0;
    for (int i = 0; i < TIMES; i++) {
        numbers[i % 64] += i;
        __asm__ volatile("jmp 1f\n1: int3" ::: "memory");
        sum += ++numbers[i % 64];
    }
    memset(numbers, 0, sizeof numbers);
    return sum;
}

// Registers and flags have the same values before and after the breakpoint.
static long with_registers(void) {
    long sum = 0;
    for (int i = 0; i < TIMES; i++) {
        long left = i, carry = 0;
        __asm__ volatile(
            "mov %2, %%rbx; mov %2, %%r8; mov %2, %%r9; mov %2, %%r10; mov %2, %%r11\n"
            "mov %2, %%r12; mov %2, %%r13; mov %2, %%r14; mov %2, %%r15\n"
            "stc; jmp 1f; 1: int3; adc $0, %1\n"
            "add %%r8, %%rbx; add %%r9, %%rbx; add %%r10, %%rbx; add %%r11, %%rbx\n"
            "add %%r12, %%rbx; add %%r13, %%rbx; add %%r14, %%rbx; add %%r15, %%rbx\n"
            "sub %%rbx, %0"
            : "+r"(left), "+r"(carry)
            : "r"((long)MARK)
            : "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
        CHECK(left == i - 9 * (long)MARK && carry == 1);
        sum += left;
    }
    return sum;
}

// int3; mov eax, value; ret
static void in_written_code(void) {
    unsigned char* code =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED);
    for (int i = 0; i < TIMES; i++) {
        code[0] = 0xcc;
        code[1] = 0xb8;
        memcpy(code + 2, &i, sizeof i);
        code[6] = 0xc3;
        CHECK(((int (*)(void))code)() == i && reached == code + 1);
    }
    CHECK(munmap(code, PAGE) == 0);
}

static long work(void) {
    struct sigaction action = {.sa_sigaction = on_breakpoint, .sa_flags = SA_SIGINFO};
    handled = 0;
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    const long sum = in_a_loop() + with_registers();
    in_written_code();
    CHECK(handled == 3 * TIMES);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
