// SPDX-License-Identifier: Apache-2.0
//
// The functions that compiled code calls (CompiledRuntime). They call the functions of counting.cpp
// on the stack that the recorder has for the thread, if there is one and it is not in use already.
// Signals that arrived meanwhile are delivered on the stack of the program.

#include "frames.inc"
#include "own_stack.h"

#define THREAD_STATE _ZN9numascape12thread_stateE
#define LET_SIGNALS_IN _ZN9numascape14let_signals_inEv

.macro ON_OWN_STACK name, function
    .globl \name
    .hidden \name
    BEGIN_FUNCTION \name
    BEGIN_FRAME
    movq THREAD_STATE@gottpoff(%rip), %r10
    movq %fs:NUMASCAPE_OWN_STACK_TOP(%r10), %r10
    movq %r10, %r11
    subq %rsp, %r11
    cmpq $NUMASCAPE_OWN_STACK_BYTES, %r11
    jb 1f                               // the thread is already on its own stack
    testq %r10, %r10
    cmovnzq %r10, %rsp
1:  andq $-16, %rsp
    call \function
    END_FRAME
    movq THREAD_STATE@gottpoff(%rip), %r10
    cmpb $0, %fs:NUMASCAPE_DEFERRED(%r10)
    jne .L_let_in
    ret
    END_FUNCTION \name
.endm

    .text
    BEGIN_FUNCTION .L_let_in
    BEGIN_FRAME
    pushq %rax
    pushq %rax
    andq $-16, %rsp
    call LET_SIGNALS_IN
    movq -8(%rbp), %rax
    END_FRAME
    ret
    END_FUNCTION .L_let_in

    ON_OWN_STACK numascape_enter_on_own_stack, numascape_enter
    ON_OWN_STACK numascape_touch_on_own_stack, numascape_touch
    ON_OWN_STACK numascape_block_on_own_stack, numascape_block
    ON_OWN_STACK numascape_range_on_own_stack, numascape_range
    ON_OWN_STACK numascape_note_on_own_stack, numascape_note
    ON_OWN_STACK numascape_mark_on_own_stack, numascape_mark
    ON_OWN_STACK numascape_region_on_own_stack, numascape_region
    ON_OWN_STACK numascape_memory_region_on_own_stack, numascape_memory_region

    .section .note.GNU-stack,"",@progbits
