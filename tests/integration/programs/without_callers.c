// SPDX-License-Identifier: Apache-2.0
// A program without the C library, whose start has no caller: the word where a return address would
// be is 0, as in programs of Free Pascal.
enum { BYTES = 1 << 20, WORDS = BYTES / 8, READ_WRITE = 3, PRIVATE_ANONYMOUS = 0x22 };
enum { MMAP = 9, EXIT_GROUP = 231, RIGHT = 7 };

__attribute__((used)) static void fill(long* words) {
    for (long i = 0; i < WORDS; i++) words[i] = i;
}

__attribute__((naked, noreturn)) void _start(void) {
    asm volatile(
        "push $0\n\t"
        "mov %0, %%eax\n\t"
        "xor %%edi, %%edi\n\t"
        "mov %1, %%esi\n\t"
        "mov %2, %%edx\n\t"
        "mov %3, %%r10d\n\t"
        "mov $-1, %%r8\n\t"
        "xor %%r9d, %%r9d\n\t"
        "syscall\n\t"
        "mov %%rax, %%rdi\n\t"
        "call fill\n\t"
        "mov %4, %%eax\n\t"
        "mov %5, %%edi\n\t"
        "syscall"
        :
        : "i"(MMAP), "i"(BYTES), "i"(READ_WRITE), "i"(PRIVATE_ANONYMOUS), "i"(EXIT_GROUP),
          "i"(RIGHT));
}
