// SPDX-License-Identifier: Apache-2.0
// The content of the files that the generator (layout.py), the runner and the stepper share.
#pragma once

#include <stdint.h>

enum { GUARD_PAGE = 3, PAGE = 4096 };

// Vector and x87 registers, independent of the CPU's own layout. Missing registers are zero.
struct vectors {
    uint64_t k[8];
    uint8_t st[8][16];
    uint32_t mxcsr;
    uint16_t control, status, tags, unused[3];
    uint8_t zmm[32][64];
};

struct registers {
    uint64_t gpr[16];  // in the instruction set's order: rax, rcx, rdx, rbx, rsp, ...
    uint64_t flags;
    uint64_t rip;
};

enum guard { NO_GUARD, GUARD_AND_LEAVE, GUARD_AND_RETRY };

// Before a block.
struct state {
    struct registers registers;  // rip: the block
    uint64_t guard;              // the third page may not be accessed; see enum guard
    struct vectors vectors;
};

// The information that a signal handler received.
struct fault {
    int64_t signal, code, trap, error;
    uint64_t address;
    struct registers registers;
    struct vectors vectors;
};

enum { MOST_FAULTS = 2 };

// After a block.
struct result {
    uint64_t faults;
    struct fault fault[MOST_FAULTS];
    struct registers registers;
    struct vectors vectors;
    uint8_t memory[ARENA_BYTES];
};

// Registers before one instruction of a block, as the stepper writes them.
struct step {
    struct registers registers;
    uint64_t gs_base;
    int64_t vectors;     // their number in the other file; -1: none
    int64_t faulted;     // the instruction was begun and did not end
    int64_t unfinished;  // a part of it remains: a string's next element, a scatter's other lanes
};
