// SPDX-License-Identifier: Apache-2.0
//
// The functions that compiled code calls, in each program and library. Callers expect that all
// registers except r11 (and rax, if there is a result) are kept. The registers that C++ code may
// change are saved here. The C++ code is compiled without vector registers. The recorder recognises
// a module by its ELF note.

#include "compiled_version.h"
#include "frames.inc"

    .section .note.GNU-stack,"",@progbits

    .section .note.numascape,"a",@note
    .balign 4
    .long 10, 4, 1                      // bytes of the name, bytes of the content, type
    .asciz "Numascape"
    .balign 4
    .long NUMASCAPE_COMPILED_VERSION

    .text

// The stack has ten words: the return address of the caller, the registers, and one word to align
// the stack. The function gets the return address in rcx.
.macro ENTRY name, function, result
    .globl \name
    .hidden \name
    BEGIN_FUNCTION \name
    SAVE rax
    SAVE rcx
    SAVE rdx
    SAVE rsi
    SAVE rdi
    SAVE r8
    SAVE r9
    SAVE r10
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq 72(%rsp), %rcx
    call \function
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    RESTORE r10
    RESTORE r9
    RESTORE r8
    RESTORE rdi
    RESTORE rsi
    RESTORE rdx
    RESTORE rcx
.if \result
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
.else
    RESTORE rax
.endif
    ret
    END_FUNCTION \name
.endm

// As ENTRY, for calls from inline assembly: the stack may be aligned in any way, and the arguments
// are on it, from 16(%rbp) up.
.macro BEGIN_PUSHED name
    .globl \name
    .hidden \name
    BEGIN_FUNCTION \name
    BEGIN_FRAME
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    andq $-16, %rsp
.endm
.macro END_PUSHED name
    leaq -72(%rbp), %rsp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    popq %rbp
    .cfi_def_cfa rsp, 8
    ret
    END_FUNCTION \name
.endm

    BEGIN_PUSHED __numascape_touch_pushed
    movq 16(%rbp), %rcx
    movq 24(%rbp), %rdx
    movq 32(%rbp), %rdi
    movq 40(%rbp), %rsi
    call __numascape_stub_touch
    END_PUSHED __numascape_touch_pushed

    BEGIN_PUSHED __numascape_block_pushed
    movq 16(%rbp), %rsi
    subq __numascape_sites_offset(%rip), %rsi
    movq 24(%rbp), %rdi
    call __numascape_stub_block
    movq %rax, 24(%rbp)
    END_PUSHED __numascape_block_pushed

    ENTRY __numascape_enter, __numascape_stub_enter, 1
    ENTRY __numascape_note, __numascape_stub_note, 0
    ENTRY __numascape_range, __numascape_stub_range, 0
    ENTRY __numascape_mark, __numascape_stub_mark, 0
    ENTRY __numascape_region, __numascape_stub_region, 0
    ENTRY __numascape_memory_region, __numascape_stub_memory_region, 0
