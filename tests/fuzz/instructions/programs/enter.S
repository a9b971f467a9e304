// SPDX-License-Identifier: Apache-2.0
// void enter_block(const struct registers *registers, const void *image): loads all registers and
// jumps to registers->rip. At block_exit, it stores them in block_registers and block_image.

    .text
    .globl  enter_block, block_jump, block_exit
    .type   enter_block, @function
enter_block:
    push    %rbx
    push    %rbp
    push    %r12
    push    %r13
    push    %r14
    push    %r15
    mov     %rsp, own_stack(%rip)
    mov     saved_components(%rip), %eax
    xor     %edx, %edx
    xrstor64 (%rsi)
    mov     136(%rdi), %rax
    mov     %rax, block_target(%rip)
    push    128(%rdi)
    popfq
    mov     (%rdi), %rax
    mov     8(%rdi), %rcx
    mov     16(%rdi), %rdx
    mov     24(%rdi), %rbx
    mov     32(%rdi), %rsp
    mov     40(%rdi), %rbp
    mov     48(%rdi), %rsi
    mov     64(%rdi), %r8
    mov     72(%rdi), %r9
    mov     80(%rdi), %r10
    mov     88(%rdi), %r11
    mov     96(%rdi), %r12
    mov     104(%rdi), %r13
    mov     112(%rdi), %r14
    mov     120(%rdi), %r15
    mov     56(%rdi), %rdi
block_jump:
    jmp     *block_target(%rip)

block_exit:
    mov     %rax, block_registers(%rip)
    mov     %rcx, block_registers+8(%rip)
    mov     %rdx, block_registers+16(%rip)
    mov     %rbx, block_registers+24(%rip)
    mov     %rsp, block_registers+32(%rip)
    mov     %rbp, block_registers+40(%rip)
    mov     %rsi, block_registers+48(%rip)
    mov     %rdi, block_registers+56(%rip)
    mov     %r8, block_registers+64(%rip)
    mov     %r9, block_registers+72(%rip)
    mov     %r10, block_registers+80(%rip)
    mov     %r11, block_registers+88(%rip)
    mov     %r12, block_registers+96(%rip)
    mov     %r13, block_registers+104(%rip)
    mov     %r14, block_registers+112(%rip)
    mov     %r15, block_registers+120(%rip)
    mov     own_stack(%rip), %rsp
    pushfq
    popq    block_registers+128(%rip)
    cld
    mov     saved_components(%rip), %eax
    xor     %edx, %edx
    xsave64 block_image(%rip)
    xrstor64 first_image(%rip)
    pop     %r15
    pop     %r14
    pop     %r13
    pop     %r12
    pop     %rbp
    pop     %rbx
    ret
    .size   enter_block, . - enter_block

    .bss
    .balign 8
own_stack:
    .zero   8
    .globl  block_target
block_target:
    .zero   8

    .section .note.GNU-stack, "", @progbits
