// SPDX-License-Identifier: Apache-2.0
// Much code in a shared mapping, which runs on a stack of its own, like the code that Erlang
// compiles. To run it takes no calls of read: a recorder that reads the table of all mappings for
// each part of it makes it unbearably slow.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <ucontext.h>

#include "rounds.h"

enum { FUNCTIONS = 6000, APART = 64, BYTES = FUNCTIONS * APART, MAX_READS = FUNCTIONS / 2 };
enum { STACK = 64 * 1024 };

static ucontext_t outside, inside;
static unsigned char *written, *executed;
static long sum;

// The calls of read of this process; 0 if the kernel does not count them.
static long reads(void) {
    long found = 0;
    char line[100];
    FILE* counts = fopen("/proc/self/io", "r");
    if (counts == NULL) return 0;
    while (fgets(line, sizeof line, counts) != NULL) sscanf(line, "syscr: %ld", &found);
    CHECK(fclose(counts) == 0);
    return found;
}

static void run(void) {
    sum = 0;
    for (int i = 0; i < FUNCTIONS; i++) sum += ((int (*)(void))(executed + i * APART))();
}

static long work(void) {
    const int file = memfd_create("code", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, BYTES) == 0);
    written = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    executed = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    CHECK(written != MAP_FAILED && executed != MAP_FAILED && close(file) == 0);
    for (int i = 0; i < FUNCTIONS; i++) {
        unsigned char* code = written + i * APART;  // mov eax, i; ret
        code[0] = 0xb8;
        memcpy(code + 1, &i, sizeof i);
        code[5] = 0xc3;
    }
    void* stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED && getcontext(&inside) == 0);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = &outside;
    makecontext(&inside, run, 0);
    const long before = reads();
    CHECK(swapcontext(&outside, &inside) == 0);
    CHECK(reads() - before <= MAX_READS);
    CHECK(munmap(stack, STACK) == 0);
    CHECK(munmap(written, BYTES) == 0 && munmap(executed, BYTES) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
