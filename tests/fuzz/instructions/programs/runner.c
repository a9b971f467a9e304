// SPDX-License-Identifier: Apache-2.0
// Runs generated blocks of instructions, each with the registers in states.bin. Writes registers
// and memory after each block, and the data that signal handlers received: runner RESULTS FIRST
// COUNT [repeat | FOLDER]. With FOLDER, runs the code with traps, and writes the log of log.c
// there. With "repeat", runs all blocks again and again until there is input, prints "round" each
// time, and writes results that differ from the first ones, each behind its block's number, into
// RESULTS.different.
#define _GNU_SOURCE
#include "runner.h"
#include "log.h"

#include <cpuid.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { IMAGE_BYTES = 4096, LEGACY_BYTES = 512 };
enum component { X87, SSE, AVX, MASKS = 5, HIGH_HALVES, HIGH_REGISTERS, COMPONENTS };

extern void enter_block(const struct registers* registers, const void* image);
extern char block_exit[];
extern const struct state states[], states_end[];
extern uint8_t arena[];

uint8_t block_image[IMAGE_BYTES] __attribute__((aligned(64)));
uint8_t first_image[IMAGE_BYTES] __attribute__((aligned(64)));  // as when a program starts
struct registers block_registers;
uint32_t saved_components;

static uint32_t component_offset[COMPONENTS];
static struct result result;
static const struct state* running;
static bool logging;

static void fail(const char* what) {
    perror(what);
    exit(1);
}

static void find_components(void) {
    uint32_t a, b, c, d;
    __cpuid_count(1, 0, a, b, c, d);
    if ((c & bit_OSXSAVE) == 0) {
        fprintf(stderr, "this CPU has no xsave\n");
        exit(77);
    }
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    saved_components = a & 0xe7;
    for (uint32_t i = AVX; i < COMPONENTS; i++) {
        uint32_t size;
        if ((saved_components >> i & 1) != 0) {
            __cpuid_count(0xd, i, size, component_offset[i], c, d);
        }
    }
    const uint16_t control = 0x37f;
    const uint32_t mxcsr = 0x1f80;
    memcpy(first_image, &control, sizeof control);
    memcpy(first_image + 24, &mxcsr, sizeof mxcsr);
}

static bool has(uint64_t components, enum component which) {
    return (components >> which & saved_components >> which & 1) != 0;
}

// Converts between the CPU's layout and struct vectors, in both directions.
static void copy_part(void* image, void* plain, size_t bytes, bool into_image) {
    memcpy(into_image ? image : plain, into_image ? plain : image, bytes);
}

static void copy_vectors(uint8_t* image, struct vectors* v, uint64_t components, bool into_image) {
    if (has(components, X87)) {
        copy_part(image, &v->control, 2, into_image);
        copy_part(image + 2, &v->status, 2, into_image);
        copy_part(image + 4, &v->tags, 1, into_image);
        for (int i = 0; i < 8; i++) copy_part(image + 32 + 16 * i, v->st[i], 10, into_image);
    }
    copy_part(image + 24, &v->mxcsr, 4, into_image);
    for (int i = 0; i < 16; i++) {
        uint8_t* zmm = v->zmm[i];
        if (has(components, SSE)) copy_part(image + 160 + 16 * i, zmm, 16, into_image);
        if (has(components, AVX)) {
            copy_part(image + component_offset[AVX] + 16 * i, zmm + 16, 16, into_image);
        }
        if (has(components, HIGH_HALVES)) {
            copy_part(image + component_offset[HIGH_HALVES] + 32 * i, zmm + 32, 32, into_image);
        }
        if (has(components, HIGH_REGISTERS)) {
            copy_part(image + component_offset[HIGH_REGISTERS] + 64 * i, v->zmm[16 + i], 64,
                      into_image);
        }
    }
    if (has(components, MASKS)) {
        copy_part(image + component_offset[MASKS], v->k, sizeof v->k, into_image);
    }
}

void read_vectors(const uint8_t* image, struct vectors* v) {
    uint64_t components;
    memcpy(&components, image + LEGACY_BYTES, sizeof components);
    memset(v, 0, sizeof *v);
    v->control = 0x37f;
    copy_vectors((uint8_t*)image, v, components, false);
}

void read_registers(const greg_t* from, struct registers* to) {
    static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};
    for (int i = 0; i < 16; i++) to->gpr[i] = (uint64_t)from[order[i]];
    to->flags = (uint64_t)from[REG_EFL];
    to->rip = (uint64_t)from[REG_RIP];
}

static uint8_t* arena_of_running(void) {
    return arena + (size_t)(running - states) * ARENA_BYTES;
}

static void protect_guard(int protection) {
    if (mprotect(arena_of_running() + GUARD_PAGE * PAGE, PAGE, protection) != 0) fail("mprotect");
}

static void on_fault(int signal, siginfo_t* info, void* context) {
    ucontext_t* uc = context;
    greg_t* registers = uc->uc_mcontext.gregs;
    const uint64_t rip = (uint64_t)registers[REG_RIP];
    if (logging && signal == SIGTRAP && is_logged(rip)) {
        log_trap(uc);
        return;
    }
    if ((rip < (uint64_t)blocks_start || rip >= (uint64_t)blocks_end) && !is_logged(rip)) {
        dprintf(STDERR_FILENO, "signal %d outside of the blocks, at %#lx\n", signal, rip);
        _exit(3);
    }
    if (result.faults < MOST_FAULTS) {
        struct fault* fault = &result.fault[result.faults];
        fault->signal = signal;
        fault->code = info->si_code;
        fault->trap = registers[REG_TRAPNO];
        fault->error = registers[REG_ERR];
        fault->address = (uint64_t)info->si_addr;
        read_registers(registers, &fault->registers);
        read_vectors((const uint8_t*)uc->uc_mcontext.fpregs, &fault->vectors);
    }
    result.faults++;
    if (running->guard == GUARD_AND_RETRY && signal == SIGSEGV && result.faults == 1) {
        protect_guard(PROT_READ | PROT_WRITE);
    } else {
        registers[REG_RIP] = (greg_t)block_exit;
    }
}

static void run(int memory) {
    static uint8_t image[IMAGE_BYTES] __attribute__((aligned(64)));
    struct vectors vectors = running->vectors;
    struct registers registers = running->registers;
    const uint64_t components = saved_components;
    memset(&result, 0, sizeof result);
    memcpy(image + LEGACY_BYTES, &components, sizeof components);
    copy_vectors(image, &vectors, components, true);
    if (running->guard != NO_GUARD) protect_guard(PROT_NONE);
    if (logging) registers.rip = logged_start(registers.rip);
    enter_block(&registers, image);
    if (running->guard != NO_GUARD) protect_guard(PROT_READ | PROT_WRITE);
    result.registers = block_registers;
    read_vectors(block_image, &result.vectors);
    if (logging) return;
    // This must change neither the blocks' memory nor a recorder's counts.
    if (pread(memory, result.memory, ARENA_BYTES, (off_t)arena_of_running()) != ARENA_BYTES) {
        fail("/proc/self/mem");
    }
}

static void put(const void* bytes, size_t count, FILE* file) {
    if (fwrite(bytes, count, 1, file) != 1 || fflush(file) != 0) fail("results");
}

static bool input_has_come(void) {
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0;
}

// The blocks begin each round with the same memory as the first round.
static void repeat(int memory, const struct state* first, long count, const struct result* known,
                   const uint8_t* began, const char* path) {
    enum { MOST = 100 };
    int different = 0;
    char name[4096];
    snprintf(name, sizeof name, "%s.different", path);
    FILE* found = fopen(name, "wb");
    if (found == NULL) fail(name);
    do {
        if (write(STDOUT_FILENO, "round\n", 6) != 6) fail("output");
        for (long at = 0; at < count; at++) {
            running = first + at;
            memcpy(arena_of_running(), began + (size_t)at * ARENA_BYTES, ARENA_BYTES);
            run(memory);
            if (memcmp(&result, &known[at], sizeof result) != 0 && different++ < MOST) {
                const uint64_t number = (uint64_t)(running - states);
                put(&number, sizeof number, found);
                put(&result, sizeof result, found);
            }
        }
    } while (!input_has_come());
    fclose(found);
}

static void* memory_for(size_t bytes) {
    void* memory = malloc(bytes);
    if (memory == NULL) fail("malloc");
    return memory;
}

int main(int argc, char** argv) {
    static uint8_t signal_stack[256 * 1024];
    const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    if (argc < 4) return 2;
    const long all = states_end - states;
    const long first = atol(argv[2]);
    long count = atol(argv[3]);
    const int memory = open("/proc/self/mem", O_RDONLY);
    FILE* results = fopen(argv[1], "wb");
    if (results == NULL || memory < 0) fail(argv[1]);
    const bool repeats = argc > 4 && strcmp(argv[4], "repeat") == 0;
    logging = argc > 4 && !repeats;
    if (logging) open_log(argv[4]);
    find_components();
    if (sigaltstack(&stack, NULL) != 0) fail("sigaltstack");
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (sigaction(signals[i], &action, NULL) != 0) fail("sigaction");
    }
    if (count > all - first) count = all - first;
    struct result* known = repeats ? memory_for((size_t)count * sizeof *known) : NULL;
    uint8_t* began = repeats ? memory_for((size_t)count * ARENA_BYTES) : NULL;
    if (repeats) {
        memcpy(began, arena + (size_t)first * ARENA_BYTES, (size_t)count * ARENA_BYTES);
    }
    for (long at = 0; at < count; at++) {
        running = &states[first + at];
        run(memory);
        if (repeats) known[at] = result;
        if (!logging) put(&result, sizeof result, results);
    }
    if (repeats) repeat(memory, &states[first], count, known, began, argv[1]);
    return fclose(results) == 0 && close_log() ? 0 : 1;
}
