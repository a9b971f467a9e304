// SPDX-License-Identifier: Apache-2.0
//
// Replaces syscall(2). Calls that the recorder does not follow go on to the C library's function.
// It gets all arguments and the stack as they were, because some calls return twice, or on another
// stack.
    .text
    .globl syscall
    .type syscall, @function
    .balign 16
syscall:
    .cfi_startproc
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    pushq %rcx
    .cfi_adjust_cfa_offset 8
    pushq %r8
    .cfi_adjust_cfa_offset 8
    pushq %r9
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call numascape_unfollowed
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %r9
    .cfi_adjust_cfa_offset -8
    popq %r8
    .cfi_adjust_cfa_offset -8
    popq %rcx
    .cfi_adjust_cfa_offset -8
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    movq %rax, %r11
    xorl %eax, %eax                     // no vector registers among the arguments
    testq %r11, %r11
    jz numascape_followed
    jmp *%r11
    .cfi_endproc
    .size syscall, . - syscall

    .section .note.GNU-stack,"",@progbits
