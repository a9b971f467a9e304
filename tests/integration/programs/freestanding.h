// SPDX-License-Identifier: Apache-2.0
// For programs without the C library: an entry, an exit, and a copy function.
#ifndef NUMASCAPE_TEST_FREESTANDING_H
#define NUMASCAPE_TEST_FREESTANDING_H

int freestanding_main(void);

__attribute__((noreturn, used)) static void run_and_exit(void) {
    long status = freestanding_main();
    __asm__ volatile("syscall" : : "a"(231L), "D"(status) : "rcx", "r11", "memory");  // exit_group
    __builtin_unreachable();
}

__asm__(
    ".globl _start\n"
    "_start:\n"
    "    xor %ebp, %ebp\n"
    "    and $-16, %rsp\n"
    "    call run_and_exit\n");

// `bytes` is a multiple of 8.
static inline void copy_words(void* to, const void* from, unsigned long bytes) {
    unsigned long count = bytes / 8;
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

#endif
