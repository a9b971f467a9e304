// SPDX-License-Identifier: Apache-2.0
// Until SIGUSR1: fills the red zone, does nothing for a while, and checks that it is unchanged. The
// red zone is the 128 bytes below the stack pointer, which a function may use without moving the
// pointer (System V ABI). Prints "right" or "changed", and ends with status 42.
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { SPINS = 200000 };

// How many of the words changed, each of which was `value`.
long words_changed(long spins, long value);
__asm__(
    ".text\n"
    "words_changed:\n"
    "xor %eax, %eax\n"
    ".set word, 1\n"
    ".rept 16\n"
    "mov %rsi, -8*word(%rsp)\n"
    ".set word, word+1\n"
    ".endr\n"
    "1: dec %rdi\n"
    "jnz 1b\n"
    ".set word, 1\n"
    ".rept 16\n"
    "xor %edx, %edx\n"
    "cmp %rsi, -8*word(%rsp)\n"
    "setne %dl\n"
    "add %rdx, %rax\n"
    ".set word, word+1\n"
    ".endr\n"
    "ret\n");

static atomic_int stopped;

static void stop(int number) {
    (void)number;
    atomic_store(&stopped, 1);
}

int main(void) {
    long changed = 0;
    signal(SIGUSR1, stop);
    puts("ready");
    fflush(stdout);
    for (long value = 1; !atomic_load(&stopped); ++value) changed += words_changed(SPINS, value);
    puts(changed == 0 ? "right" : "changed");
    return 42;
}
