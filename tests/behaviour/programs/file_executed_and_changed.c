// SPDX-License-Identifier: Apache-2.0
// The program executes code in a private mapping of a file most of the time, and then changes the
// file. If a recorder wrote to a page of such a mapping, the page would become a copy with the old
// code.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "rounds.h"

enum { TIMES = 4, TURNS = 2000000 };

// mov ecx, turns; again: dec ecx; jnz again; mov eax, value; ret
static void write_file(int file, int turns, int value) {
    unsigned char code[] = {0xb9, 0, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(code + 1, &turns, sizeof turns);
    memcpy(code + 10, &value, sizeof value);
    CHECK(pwrite(file, code, sizeof code, 0) == sizeof code);
}

static long work(void) {
    char name[] = "/tmp/code-XXXXXX";
    const int written = mkstemp(name);
    const int read = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(written >= 0 && read >= 0 && unlink(name) == 0 && ftruncate(written, PAGE) == 0);
    unsigned char* code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, read, 0);
    CHECK(code != MAP_FAILED);
    for (int i = 0; i < TIMES; i++) {
        write_file(written, TURNS, i);
        CHECK(((int (*)(void))code)() == i);
        write_file(written, 1, -i);
        CHECK(((int (*)(void))code)() == -i);
    }
    CHECK(munmap(code, PAGE) == 0 && close(written) == 0 && close(read) == 0);
    return TIMES;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
