// SPDX-License-Identifier: Apache-2.0
// Writes the registers at each trap in the blocks' code with traps: see ../traps.py.
#pragma once

#include <stdbool.h>
#include <ucontext.h>

#include "runner.h"

extern char blocks_start[], blocks_end[], logged_blocks[], logged_blocks_end[];

void open_log(const char* folder);
bool close_log(void);

// The address of the code with traps, for the block at this address.
uint64_t logged_start(uint64_t block);
// Whether the address is in code with traps.
bool is_logged(uint64_t address);
// To be called by the handler of a trap.
void log_trap(const ucontext_t* context);

// Of runner.c.
void read_registers(const greg_t* from, struct registers* to);
void read_vectors(const uint8_t* image, struct vectors* v);
