// SPDX-License-Identifier: Apache-2.0
// Executes an instruction that no processor has: without an argument it ends by SIGILL, with one it
// has a handler, and goes on.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf behind;

static void handle(int number) {
    siglongjmp(behind, number);
}

__attribute__((noinline)) void execute_unknown(void) {
    __asm__ volatile(".byte 0xc4, 0xe0, 0x78, 0x12, 0x34, 0x56");
}

int main(int argc, char* argv[]) {
    (void)argv;
    if (argc > 1) signal(SIGILL, handle);
    if (sigsetjmp(behind, 1) == 0) execute_unknown();
    puts("handled");
    return 0;
}
