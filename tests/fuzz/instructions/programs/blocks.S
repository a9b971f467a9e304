// SPDX-License-Identifier: Apache-2.0
// The generated blocks, the memory that they access and the registers that they begin with.
    .section .blocks, "ax", @progbits
    .globl  blocks_start, blocks_end
blocks_start:
    jmp     block_exit              // where each block ends
    .balign 16
    .incbin "blocks.bin"
blocks_end:

    .section .arena, "aw", @progbits
    .balign 4096
    .globl  arena
    .type   arena, @object
arena:
    .incbin "arena.bin"
    .size   arena, . - arena

    .section .rodata
    .balign 64
    .globl  states, states_end
states:
    .incbin "states.bin"
states_end:

    .section .note.GNU-stack, "", @progbits
