// SPDX-License-Identifier: Apache-2.0
// Two libraries of one layout, see reloaded.c: FIRST has a function that allocates nothing. At the
// same place, the other has the rest of a function that keeps a value in a register which calls may
// change.

    .macro  name_function name
    .globl  \name
    .type   \name, @function
    .endm

    .text
    .p2align 8
#ifdef FIRST
    name_function posix_memalign
posix_memalign:
    xor     %eax, %eax
    ret
#else
    name_function inside
inside:
    pop     %rax
    add     %r11, %rax
    ret
#endif
    .p2align 8
#ifndef FIRST
    name_function sum
sum:
    push    $42
    mov     $1000, %r11d
    jmp     inside
#endif
    .p2align 8

    .section .note.GNU-stack, "", @progbits
