// SPDX-License-Identifier: Apache-2.0
// See kernels.h. System V calling convention; each access is one visible instruction.

    .macro function name
    .globl  \name
    .type   \name, @function
    .p2align 4
\name:
    .endm

    .macro end name
    .size   \name, . - \name
    .endm

    .text
function read_strided
    test    %rsi, %rsi
    jle     2f
1:  movq    (%rdi), %rax
    add     %rdx, %rdi
    dec     %rsi
    jnz     1b
2:  ret
end read_strided

function write_strided
    test    %rsi, %rsi
    jle     2f
1:  movq    %rsi, (%rdi)
    add     %rdx, %rdi
    dec     %rsi
    jnz     1b
2:  ret
end write_strided

function add_strided
    test    %rsi, %rsi
    jle     2f
1:  addq    %rsi, (%rdi)
    add     %rdx, %rdi
    dec     %rsi
    jnz     1b
2:  ret
end add_strided

function dot_column
    xorps   %xmm0, %xmm0
    lea     (,%rdx,8), %rcx
    test    %rdx, %rdx
    jle     2f
1:  movsd   (%rdi), %xmm1
    mulsd   (%rsi), %xmm1
    addsd   %xmm1, %xmm0
    add     $8, %rdi
    add     %rcx, %rsi
    dec     %rdx
    jnz     1b
2:  ret
end dot_column

function store
    movsd   %xmm0, (%rdi)
    ret
end store

    .section .note.GNU-stack, "", @progbits
