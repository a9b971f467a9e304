// SPDX-License-Identifier: Apache-2.0
//
// What compiled code calls, in each program and library. Callers expect all registers but r11 (and
// rax where there is a result) to be kept: those that C++ code may change are saved here, and
// the code behind is compiled without vector registers. A module is known by its note.

#define NOTE_VERSION 1

    .section .note.GNU-stack,"",@progbits

    .section .note.numascape,"a",@note
    .balign 4
    .long 10, 4, 1                      // bytes of the name, bytes of the content, type
    .asciz "Numascape"
    .balign 4
    .long NOTE_VERSION

    .text

.macro SAVE register
    pushq %\register
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset \register, 0
.endm
.macro RESTORE register
    popq %\register
    .cfi_adjust_cfa_offset -8
    .cfi_restore \register
.endm

// Ten words: the caller's return address, the registers, and one for the stack's alignment. The
// function gets the return address in rcx.
.macro ENTRY name, function, result
    .globl \name
    .hidden \name
    .type \name, @function
    .balign 16
\name:
    .cfi_startproc
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
    .cfi_endproc
    .size \name, . - \name
.endm

    ENTRY __numascape_enter, __numascape_stub_enter, 1
    ENTRY __numascape_touch, __numascape_stub_touch, 0
    ENTRY __numascape_block, __numascape_stub_block, 1
    ENTRY __numascape_note, __numascape_stub_note, 0
    ENTRY __numascape_range, __numascape_stub_range, 0
    ENTRY __numascape_mark, __numascape_stub_mark, 0
    ENTRY __numascape_region, __numascape_stub_region, 0
