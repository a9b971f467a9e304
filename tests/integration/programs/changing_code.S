// SPDX-License-Identifier: Apache-2.0
// See changing_code.c.

    .macro set_registers
    .set    value, 1
    .irp    reg, rax, rcx, rdx, rbx, rbp, r8, r9, r10, r11, r12, r13, r14, r15
    mov     $value * 0x0101, %\reg
    .set    value, value + 1
    .endr
    .endm

    // eax = number of different registers
    .macro count_lost
    push    %rax
    mov     $0, %eax
    .set    value, 2
    .irp    reg, rcx, rdx, rbx, rbp, r8, r9, r10, r11, r12, r13, r14, r15
    cmp     $value * 0x0101, %\reg
    setne   %ah
    add     %ah, %al
    .set    value, value + 1
    .endr
    mov     $0, %ah
    pop     %rcx
    .endm

    .text
    .globl  write_code
    .type   write_code, @function
write_code:
    push    %rbx
    push    %rbp
    push    %r12
    push    %r13
    push    %r14
    push    %r15
    set_registers
    jmp     1f
1:  mov     %esi, (%rdi)
    mov     word(%rip), %rsi    // an access after it: scratch registers are kept across it
    jmp     1f
1:  count_lost
    cmp     $0x0101, %rcx
    setne   %cl
    add     %cl, %al
    pop     %r15
    pop     %r14
    pop     %r13
    pop     %r12
    pop     %rbp
    pop     %rbx
    ret
    .size   write_code, . - write_code

    .globl  call_self_writing
    .type   call_self_writing, @function
call_self_writing:
    push    %rbx
    push    %rbp
    push    %r12
    push    %r13
    push    %r14
    push    %r15
    set_registers
    call    self_writing
    mov     %eax, (%rsi)
    count_lost
    pop     %r15
    pop     %r14
    pop     %r13
    pop     %r12
    pop     %rbp
    pop     %rbx
    ret
    .size   call_self_writing, . - call_self_writing

    .p2align 12
    .globl  self_writing
    .type   self_writing, @function
self_writing:
    mov     %edi, 1f + 1(%rip)
    mov     word(%rip), %rdi
1:  mov     $0, %eax
    ret
    .size   self_writing, . - self_writing
    .p2align 12

    .bss
    .p2align 3
word:
    .zero   8

    .section .note.GNU-stack, "", @progbits
