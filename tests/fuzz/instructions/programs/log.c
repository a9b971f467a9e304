// SPDX-License-Identifier: Apache-2.0
// Writes the registers at each trap in the blocks' code with traps: see ../traps.py.
#define _GNU_SOURCE
#include "log.h"

#include "components.h"

#include <asm/prctl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRAP_WITH_VECTORS = 0x03 };  // the last byte of `int 3`; int3 has 0xcc alone

struct logged {
    struct registers registers;
    uint64_t gs_base;
    int64_t vectors;  // which one of the other file's; -1: none
};

static FILE *rows, *vectors;
static int64_t written;

static FILE* open_file(const char* path) {
    FILE* file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

static void put(const void* row, size_t bytes, FILE* file) {
    if (fwrite(row, bytes, 1, file) != 1) {
        perror("log");
        _exit(1);
    }
}

void open_log(const char* folder) {
    if (chdir(folder) != 0) perror(folder);
    rows = open_file("rows.bin");
    vectors = open_file("vectors.bin");
    write_components("components");
}

bool close_log(void) {
    return rows == NULL || (fclose(rows) == 0 && fclose(vectors) == 0);
}

uint64_t logged_start(uint64_t block) {
    return (uint64_t)logged_blocks + LOGGED_BYTES * (block - (uint64_t)blocks_start);
}

bool is_logged(uint64_t address) {
    return address >= (uint64_t)logged_blocks && address < (uint64_t)logged_blocks_end;
}

// The order of the x87's registers is that of the stack: st(0) first. MMX instructions name the
// registers below it.
static void order_by_number(struct vectors* v) {
    uint8_t stack[8][16];
    const int top = v->status >> 11 & 7;
    memcpy(stack, v->st, sizeof stack);
    for (int i = 0; i < 8; i++) memcpy(v->st[(top + i) % 8], stack[i], sizeof stack[i]);
}

void log_trap(const ucontext_t* context) {
    struct logged row = {.vectors = -1};
    if (syscall(SYS_arch_prctl, ARCH_GET_GS, &row.gs_base) != 0) perror("arch_prctl");
    read_registers(context->uc_mcontext.gregs, &row.registers);
    if (*(const uint8_t*)(row.registers.rip - 1) == TRAP_WITH_VECTORS) {
        struct vectors v;
        read_vectors((const uint8_t*)context->uc_mcontext.fpregs, &v);
        order_by_number(&v);
        put(&v, sizeof v, vectors);
        row.vectors = written++;
    }
    put(&row, sizeof row, rows);
}
