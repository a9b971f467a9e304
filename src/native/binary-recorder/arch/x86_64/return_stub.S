// SPDX-License-Identifier: Apache-2.0
//
// Hooked functions return to these two stubs while they are recorded. The first one is for
// allocation functions (allocations.cpp), the second one for functions that run a parallel region
// (regions.cpp). The stubs are not counted. The code that is inserted before their first
// instruction puts the real return address back.
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
