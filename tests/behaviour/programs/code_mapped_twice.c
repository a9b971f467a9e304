// SPDX-License-Identifier: Apache-2.0
// Code that a program writes through one mapping of its pages and executes through another, or that
// a child writes.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>

#include "rounds.h"

enum { TIMES = 100, AGAIN = 20, CHILDREN = 3 };

// mov eax, value; ret
static void generate(unsigned char* code, int value) {
    code[0] = 0xb8;
    memcpy(code + 1, &value, sizeof value);
    code[5] = 0xc3;
}

static void run(const unsigned char* code, int value) {
    CHECK(((int (*)(void))code)() == value);
}

static unsigned char* map(int protection, int file) {
    const int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    unsigned char* memory = mmap(NULL, PAGE, protection, flags, file, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void write_and_run(unsigned char* written, const unsigned char* executed) {
    for (int i = 0; i < TIMES; i++) {
        generate(written, 5 * i);
        for (int k = 0; k < AGAIN; k++) run(executed, 5 * i);
    }
}

static void unmap(unsigned char* written, unsigned char* executed) {
    CHECK(munmap(written, PAGE) == 0 && munmap(executed, PAGE) == 0);
}

static void in_a_file(void) {
    const int file = memfd_create("code", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, PAGE) == 0);
    unsigned char* written = map(PROT_READ | PROT_WRITE, file);
    unsigned char* executed = map(PROT_READ | PROT_EXEC, file);
    write_and_run(written, executed);
    unmap(written, executed);
    written = map(PROT_READ | PROT_WRITE, file);
    executed = map(PROT_READ | PROT_WRITE, file);
    CHECK(mprotect(executed, PAGE, PROT_READ | PROT_EXEC) == 0);
    write_and_run(written, executed);
    unmap(written, executed);
    CHECK(close(file) == 0);
}

// Both mappings of the memory are writable and executable.
static void in_turn(void) {
    unsigned char* one = map(PROT_READ | PROT_WRITE | PROT_EXEC, -1);
    unsigned char* other = mremap(one, 0, PAGE, MREMAP_MAYMOVE);
    CHECK(other != MAP_FAILED && other != one);
    write_and_run(one, other);
    write_and_run(other, one);
    write_and_run(one, one);
    unmap(one, other);
}

static void by_a_child(void) {
    int status;
    unsigned char* code = map(PROT_READ | PROT_WRITE | PROT_EXEC, -1);
    for (int i = 0; i < CHILDREN; i++) {
        generate(code, i);
        run(code, i);
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            generate(code, -i);
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        run(code, -i);
    }
    CHECK(munmap(code, PAGE) == 0);
}

static long work(void) {
    in_a_file();
    in_turn();
    by_a_child();
    return TIMES;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
