// SPDX-License-Identifier: Apache-2.0
//
// Functions of the C library that are replaced by ours. This file saves the registers of the
// program at the call, for its call stack. C++ code does the rest.

#include "frames.inc"

// Calls `function` with the registers (as ProgramRegisters), and with the stack pointer at the
// first instruction of `name` and the address of this instruction.
.macro REPLACED name, function
    .globl \name
    BEGIN_FUNCTION \name
.L_\name:
    SAVE rax
    SAVE rcx
    SAVE rdx
    SAVE rsi
    SAVE rdi
    SAVE r8
    SAVE r9
    SAVE r10
    SAVE r11
    SAVE rbx
    SAVE rbp
    SAVE r12
    SAVE r13
    SAVE r14
    SAVE r15
    pushq $0
    .cfi_adjust_cfa_offset 8
    movq %rsp, %rdi
    leaq 128(%rsp), %rsi
    leaq .L_\name(%rip), %rdx
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call \function
    addq $136, %rsp
    .cfi_adjust_cfa_offset -136
    ret
    END_FUNCTION \name
.endm

    .text
    REPLACED malloc, numascape_malloc
    REPLACED calloc, numascape_calloc
    REPLACED realloc, numascape_realloc
    REPLACED reallocarray, numascape_reallocarray
    REPLACED aligned_alloc, numascape_aligned_alloc
    REPLACED memalign, numascape_memalign
    REPLACED valloc, numascape_valloc
    REPLACED pvalloc, numascape_pvalloc
    REPLACED posix_memalign, numascape_posix_memalign
    REPLACED mmap, numascape_mmap
    REPLACED mmap64, numascape_mmap
    REPLACED mremap, numascape_mremap
    REPLACED shmat, numascape_shmat

// numascape_saving_vectors(function, argument): calls it with all vector registers saved.
    .globl numascape_saving_vectors
    .hidden numascape_saving_vectors
    BEGIN_FUNCTION numascape_saving_vectors
    BEGIN_FRAME
    subq $12288, %rsp                   // XSAVE's area; AMX alone has 8 KiB
    andq $-64, %rsp
    movq %rdi, %r8
    leaq 512(%rsp), %rdi                // the header behind the legacy part must be zero
    xorl %eax, %eax
    movl $8, %ecx
    rep stosq
    movl $-1, %eax
    movl $-1, %edx
    xsave64 (%rsp)
    movq %rsi, %rdi
    call *%r8
    movl $-1, %eax
    movl $-1, %edx
    xrstor64 (%rsp)
    END_FRAME
    ret
    END_FUNCTION numascape_saving_vectors

    .section .note.GNU-stack,"",@progbits
