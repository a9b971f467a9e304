// SPDX-License-Identifier: Apache-2.0
//
// changing_code HOW: runs functions of a few bytes that it writes and overwrites. Prints how often
// a function returned the value of its present code, and how many registers its writer lost.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIMES 300
#define PAGE 4096

// changing_code.S: both set all registers that a call may change, and some that it may not, let one
// instruction write, and count the registers that are different afterwards.
extern int write_code(int* at, int value);
extern int call_self_writing(int value, int* returned);
extern char self_writing[];

static int right, lost;

static unsigned char* pages(size_t bytes, int protection) {
    void* start = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

// mov eax, ...; ret
static void new_function(unsigned char* at) {
    at[0] = 0xb8;
    at[5] = 0xc3;
}

static void change(unsigned char* function, int value) {
    lost += write_code((int*)(void*)(function + 1), value);
}

static void run(const unsigned char* function, int value) {
    right += ((int (*)(void))function)() == value;
}

static void rewritten(void) {
    unsigned char* function = pages(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    new_function(function);
    for (int i = 0; i < TIMES; i++) {
        change(function, i);
        run(function, i);
    }
}

// Writes beside code that has already run.
static void added(void) {
    unsigned char* next = pages(TIMES * 64, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int i = 0; i < TIMES; i++, next += 64) {
        change(next, i);
        new_function(next);
        run(next, i);
    }
}

static void protected(void) {
    unsigned char* function = pages(PAGE, PROT_READ | PROT_WRITE);
    new_function(function);
    for (int i = 0; i < TIMES; i++) {
        mprotect(function, PAGE, PROT_READ | PROT_WRITE);
        change(function, i);
        mprotect(function, PAGE, PROT_READ | PROT_EXEC);
        run(function, i);
    }
}

// A block that writes the operand of one of its own instructions.
static void itself(void) {
    unsigned char* page = (unsigned char*)((unsigned long)self_writing & -PAGE);
    mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int i = 0; i < TIMES; i++) {
        int returned = -1;
        lost += call_self_writing(i, &returned);
        right += returned == i;
    }
}

int main(int argc, char* argv[]) {
    static const struct {
        const char* name;
        void (*run)(void);
    } ways[] = {
        {"rewritten", rewritten}, {"added", added}, {"protected", protected}, {"itself", itself}};
    for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(argv[1], ways[i].name) == 0) {
            ways[i].run();
            printf("right %d, lost %d\n", right, lost);
            return 0;
        }
    }
    return 2;
}
