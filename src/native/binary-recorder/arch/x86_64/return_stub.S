// SPDX-License-Identifier: Apache-2.0
//
// Where hooked functions return to while they are recorded: first allocation functions
// (allocations.cpp), then those that run a parallel region (regions.cpp). It is not counted: the
// code inserted before the first instruction puts the real return address back.
    .text
    .globl numascape_return_stub
    .hidden numascape_return_stub
    .type numascape_return_stub, @function
numascape_return_stub:
    lea -8(%rsp), %rsp
    ret
    lea -8(%rsp), %rsp
    ret
    .size numascape_return_stub, . - numascape_return_stub
    .section .note.GNU-stack, "", @progbits
