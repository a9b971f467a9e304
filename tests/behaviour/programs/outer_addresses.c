// SPDX-License-Identifier: Apache-2.0
// Memory at low and at high addresses, and a request beyond the address space of a program.
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

#include "rounds.h"

// Free without a recorder, except for the program's stack, which is among the last ones.
static const uintptr_t LOW = 0x10000, MIDDLE = 0x600000000000, TOP = 0x7ff000000000;
static const uintptr_t BEYOND = (uintptr_t)1 << 48, APART = (uintptr_t)1 << 28;
enum { PLACES = 256 };

static char* map(uintptr_t address, int more) {
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | more;
    return mmap((void*)address, PAGE, PROT_READ | PROT_WRITE, kind, -1, 0);
}

// Maps memory at exactly this address, if the address is free.
static long use(uintptr_t address) {
    char* page = map(address, MAP_FIXED_NOREPLACE);
    if (page == MAP_FAILED) {
        CHECK(errno == EEXIST || errno == EPERM);
        return 0;
    }
    CHECK((uintptr_t)page == address);
    page[0] = page[PAGE - 1] = 1;
    CHECK(munmap(page, PAGE) == 0);
    return 1;
}

static long work(void) {
    const long used = 2 * use(LOW) + use(MIDDLE);
    for (int i = 0; i < PLACES; i++) use(TOP + i * APART);
    char* elsewhere = map(BEYOND, 0);  // granted with five levels of page tables only
    CHECK(elsewhere != MAP_FAILED);
    elsewhere[0] = 1;
    CHECK(munmap(elsewhere, PAGE) == 0);
    return used;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
