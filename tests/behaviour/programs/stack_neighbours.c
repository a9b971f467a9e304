// SPDX-License-Identifier: Apache-2.0
// Threads on stacks that end where other memory begins, which is protected later, as the JVM does
// with the stacks of its threads. They allocate in a function that no unwinder knows.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "rounds.h"

enum { STACK = 64 * PAGE, THREADS = 4, BLOCKS = 20, BYTES = 2 * PAGE };

static char* memory;

// Has no call frame information.
extern void* unknown_caller(size_t bytes);
__asm__(
    ".text\n"
    ".type unknown_caller, @function\n"
    "unknown_caller:\n"
    "    sub $24, %rsp\n"
    "    call malloc@PLT\n"
    "    add $24, %rsp\n"
    "    ret\n"
    ".size unknown_caller, . - unknown_caller\n");

static void* allocate(void* result) {
    intptr_t bytes = 0;
    CHECK(mprotect(memory + STACK, STACK, PROT_NONE) == 0);
    for (int i = 0; i < BLOCKS; i++) {
        char* block = unknown_caller(BYTES);
        CHECK(block != NULL);
        memset(block, i, BYTES);
        bytes += block[BYTES - 1] == i ? BYTES : 0;
        free(block);
    }
    *(intptr_t*)result = bytes;
    return NULL;
}

static long work(void) {
    long sum = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_attr_t attributes;
        intptr_t result = 0;
        memory = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        CHECK(pthread_attr_init(&attributes) == 0);
        CHECK(pthread_attr_setstack(&attributes, memory, STACK) == 0);
        CHECK(pthread_create(&thread, &attributes, allocate, &result) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(pthread_attr_destroy(&attributes) == 0 && munmap(memory, 2 * STACK) == 0);
        sum += result;
    }
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
