// SPDX-License-Identifier: Apache-2.0
// Code that a program writes while it runs: over itself, to new places each time, and in pages that
// are writable or executable in turn.
#include <sys/mman.h>

#include "rounds.h"

enum { OVER = 500, FRESH = 1000, IN_TURN = 100, ALL = PROT_READ | PROT_WRITE | PROT_EXEC };

static void* map(size_t bytes, int protection) {
    void* memory = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

// mov eax, value; ret
static void generate(unsigned char* code, int value) {
    code[0] = 0xb8;
    memcpy(code + 1, &value, sizeof value);
    code[5] = 0xc3;
}

static void run(const unsigned char* code, int value) {
    CHECK(((int (*)(void))code)() == value);
}

static void write_over_itself(void) {
    unsigned char* code = map(PAGE, ALL);
    for (int i = 0; i < OVER; i++) {
        generate(code, i);
        run(code, i);
    }
    for (int i = 0; i < IN_TURN; i++) {
        CHECK(mprotect(code, PAGE, PROT_READ | PROT_WRITE) == 0);
        generate(code, 3 * i);
        CHECK(mprotect(code, PAGE, PROT_READ | PROT_EXEC) == 0);
        run(code, 3 * i);
    }
    CHECK(munmap(code, PAGE) == 0);
}

static void write_to_new_places(void) {
    unsigned char* code = map(FRESH * 16, ALL);
    for (int i = 0; i < FRESH; i++) {
        generate(code + 16 * i, i);
        run(code + 16 * i, i);
        run(code + 16 * (i / 2), i / 2);
    }
    CHECK(munmap(code, FRESH * 16) == 0);
}

static long work(void) {
    write_over_itself();
    write_to_new_places();
    return OVER + FRESH + IN_TURN;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
