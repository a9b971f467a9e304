// SPDX-License-Identifier: Apache-2.0
// Executes an instruction that no processor has: without an argument it ends by SIGILL, with one it
// has a handler, and goes on.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf behind;

void execute_unknown(void);

static void handle(int number, siginfo_t* info, void* context) {
    (void)context;
    const int right = info->si_code == ILL_ILLOPN && info->si_addr == (void*)execute_unknown;
    siglongjmp(behind, right ? number : -1);
}

__asm__(
    ".globl execute_unknown\n"
    "execute_unknown: .byte 0xc4, 0xe0, 0x78, 0x12, 0x34, 0x56\n\tret");

int main(int argc, char* argv[]) {
    (void)argv;
    const struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    if (argc > 1) sigaction(SIGILL, &action, NULL);
    const int number = sigsetjmp(behind, 1);
    if (number == 0) execute_unknown();
    puts(number == SIGILL ? "handled" : "wrong cause");
    return 0;
}
