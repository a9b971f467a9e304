// SPDX-License-Identifier: Apache-2.0
// Runs a program one instruction at a time while it is in its blocks, and writes its registers
// before each instruction that accesses memory: stepper JUMP START BYTES WANTED STEPS VECTORS
// PROGRAM ...
//
// JUMP: address of the instruction that goes to a block. START, BYTES: the memory of the blocks.
// WANTED: a file with a byte for each of these bytes: 1, write general registers before this
// instruction; 2, vector registers, too.
#define _GNU_SOURCE
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "components.h"
#include "runner.h"

enum { SYSCALL_STOP = SIGTRAP | 0x80, BREAKPOINT = 0xcc, TRAP_FLAG = 0x100 };

static pid_t child;
static uint64_t jump, start, bytes;
static uint8_t* wanted;
static FILE *steps, *vectors;
static int64_t written;
static struct user_regs_struct now;

static void fail(const char* what) {
    fprintf(stderr, "stepper: %s: %s\n", what, strerror(errno));
    if (child > 0) kill(child, SIGKILL);
    exit(1);
}

static uint32_t offset_of(uint32_t component) {
    uint32_t a, b, c, d;
    __cpuid_count(0xd, component, a, b, c, d);
    return b;
}

static void write_vectors(void) {
    static uint8_t image[16384];
    struct iovec area = {image, sizeof image};
    if (ptrace(PTRACE_GETREGSET, child, NT_X86_XSTATE, &area) != 0) fail("GETREGSET");
    uint64_t present;
    struct vectors v;
    memcpy(&present, image + 512, sizeof present);
    memset(&v, 0, sizeof v);
    // xsave's order is that of the stack: st(0) first. MMX instructions name the registers below
    // it.
    uint16_t status;
    memcpy(&status, image + 2, sizeof status);
    const int top = status >> 11 & 7;
    for (int i = 0; i < 8; i++) memcpy(v.st[(top + i) % 8], image + 32 + 16 * i, 10);
    if ((present >> 5 & 1) != 0) memcpy(v.k, image + offset_of(5), sizeof v.k);
    for (int i = 0; i < 16; i++) {
        if ((present >> 1 & 1) != 0) memcpy(v.zmm[i], image + 160 + 16 * i, 16);
        if ((present >> 2 & 1) != 0) memcpy(v.zmm[i] + 16, image + offset_of(2) + 16 * i, 16);
        if ((present >> 6 & 1) != 0) memcpy(v.zmm[i] + 32, image + offset_of(6) + 32 * i, 32);
        if ((present >> 7 & 1) != 0) memcpy(v.zmm[16 + i], image + offset_of(7) + 64 * i, 64);
    }
    if (fwrite(&v, sizeof v, 1, vectors) != 1) fail("vectors");
    written++;
}

static bool in_blocks(uint64_t rip) {
    return rip >= start && rip < start + bytes;
}

static uint64_t read_rip(void) {
    if (ptrace(PTRACE_GETREGS, child, 0, &now) != 0) fail("GETREGS");
    return now.rip;
}

// Called before the instruction at `now`; true if the registers of this instruction are wanted.
static bool take_step(struct step* step) {
    const uint8_t kind = wanted[now.rip - start];
    if (kind == 0) return false;
    const uint64_t gpr[16] = {now.rax, now.rcx, now.rdx, now.rbx, now.rsp, now.rbp,
                              now.rsi, now.rdi, now.r8,  now.r9,  now.r10, now.r11,
                              now.r12, now.r13, now.r14, now.r15};
    memcpy(step->registers.gpr, gpr, sizeof gpr);
    step->registers.flags = now.eflags;
    step->registers.rip = now.rip;
    step->gs_base = now.gs_base;
    step->vectors = -1;
    step->faulted = step->unfinished = 0;
    if (kind == 2) {
        step->vectors = written;
        write_vectors();
    }
    return true;
}

// Steps until the program is outside of its blocks; returns the signal that it then must get.
static int step_through(void) {
    struct step step = {0};
    int signal = 0;
    while (in_blocks(now.rip)) {
        const bool wanted_here = take_step(&step);
        int status;
        if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) != 0 || waitpid(child, &status, 0) != child) {
            fail("SINGLESTEP");
        }
        if (!WIFSTOPPED(status)) fail("the program ended in a block");
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        step.faulted = signal;
        if (signal == 0) step.unfinished = read_rip() == step.registers.rip;
        if (wanted_here && fwrite(&step, sizeof step, 1, steps) != 1) fail("steps");
        if (signal != 0) break;
    }
    return signal;
}

static uint64_t peek(uint64_t address) {
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, child, (void*)address, 0);
    if (errno != 0) fail("PEEKTEXT");
    return (uint64_t)word;
}

// At the breakpoint of the jump: goes to the target of the jump, which its rip-relative operand
// gives.
static void follow_jump(uint64_t instruction) {
    const int32_t displacement = (int32_t)(instruction >> 16);
    now.rip = peek(jump + 6 + (uint64_t)(int64_t)displacement);
    if (ptrace(PTRACE_SETREGS, child, 0, &now) != 0) fail("SETREGS");
}

static void read_wanted(const char* path) {
    FILE* file = fopen(path, "rb");
    wanted = malloc(bytes);
    if (file == NULL || wanted == NULL || fread(wanted, bytes, 1, file) != 1) fail(path);
    fclose(file);
}

static void start_program(char** command) {
    child = fork();
    if (child == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(command[0], command);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) fail("fork");
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
}

int main(int argc, char** argv) {
    if (argc < 8) return 2;
    jump = strtoull(argv[1], NULL, 0);
    start = strtoull(argv[2], NULL, 0);
    bytes = strtoull(argv[3], NULL, 0);
    read_wanted(argv[4]);
    steps = fopen(argv[5], "wb");
    vectors = fopen(argv[6], "wb");
    if (steps == NULL || vectors == NULL) fail(argv[5]);
    start_program(argv + 7);
    const uint64_t instruction = peek(jump);
    ptrace(PTRACE_POKETEXT, child, (void*)jump, (instruction & ~0xffull) | BREAKPOINT);
    int signal = 0;
    for (;;) {
        int status;
        if (ptrace(PTRACE_SYSCALL, child, 0, signal) != 0 || waitpid(child, &status, 0) != child) {
            fail("SYSCALL");
        }
        if (WIFEXITED(status)) {
            write_components("components");
            const bool closed = fclose(steps) == 0 && fclose(vectors) == 0;
            return closed ? WEXITSTATUS(status) : 1;
        }
        if (WIFSIGNALED(status)) fail("the program was killed");
        signal = WSTOPSIG(status) == SYSCALL_STOP ? 0 : WSTOPSIG(status);
        if (signal == SIGTRAP && read_rip() == jump + 1) {
            follow_jump(instruction);
            signal = step_through();
        } else if (signal == SIGTRAP) {
            // After popf, the kernel mistakes its own trap flag for the program's flag, and does
            // not clear it.
            now.eflags &= ~(uint64_t)TRAP_FLAG;
            if (ptrace(PTRACE_SETREGS, child, 0, &now) != 0) fail("SETREGS");
            signal = 0;
        } else if (signal == 0 && in_blocks(read_rip())) {
            signal = step_through();  // a signal handler has returned into the block
        }
    }
}
