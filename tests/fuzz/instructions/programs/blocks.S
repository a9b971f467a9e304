// SPDX-License-Identifier: Apache-2.0
// Room for the generated blocks, the memory that they access and the registers that they begin
// with. program.py writes them into the executable, which is faster than to link it again.
    .section .blocks, "ax", @progbits
    .globl  blocks_start, blocks_end
blocks_start:
    jmp     block_exit              // each block ends here
    .balign 16
    .skip   CODE_BYTES
blocks_end:

    .section .logged, "ax", @progbits
    .globl  logged_blocks, logged_blocks_end
logged_blocks:
    .skip   LOGGED_BYTES * (CODE_BYTES + 16)
logged_blocks_end:

    .section .arena, "aw", @progbits
    .balign 4096
    .globl  arena
    .type   arena, @object
arena:
    .skip   BLOCKS * ARENA_BYTES
    .size   arena, . - arena

    .section .states, "a", @progbits
    .balign 64
    .globl  states, states_end
states:
    .skip   BLOCKS * STATE_BYTES
states_end:

    .section .note.GNU-stack, "", @progbits
