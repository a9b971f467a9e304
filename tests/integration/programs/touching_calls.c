// SPDX-License-Identifier: Apache-2.0
// Touches pages first on different call paths. The arrays that are named after paths have a closed
// form: see tests/integration/test_touching_calls.py.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / 8 };

#define PAGES(name, count) \
    __attribute__((aligned(4096))) static volatile double name[(count) * WORDS]

PAGES(by_two, 64);
PAGES(inlined, 8);
PAGES(recursive, 9);
PAGES(by_threads, 20);
PAGES(cleared, 12);
PAGES(twice, 6);
__attribute__((aligned(4096))) static char input[16 * PAGE];

// Compilers must not turn the last call of a function into a jump.
#define STAY() __asm__ volatile("" ::: "memory")

__attribute__((noinline)) static void init(volatile double* at, long pages) {
    for (long i = 0; i < pages * WORDS; i++) at[i] = 1;
}

__attribute__((noinline)) static void first(void) {
    init(by_two, 40);
    STAY();
}

__attribute__((noinline)) static void second(void) {
    init(by_two + 40 * WORDS, 24);
    STAY();
}

__attribute__((always_inline)) static inline void fill(volatile double* at, long pages) {
    for (long i = 0; i < pages * WORDS; i++) at[i] = 2;
}

__attribute__((noinline)) static void third(void) {
    fill(inlined, 8);
    STAY();
}

__attribute__((noinline)) static void descend(long depth) {
    recursive[depth * WORDS] = 1;
    if (depth > 0) descend(depth - 1);
    STAY();
}

static void* worker(void* number) {
    init(by_threads + (long)number * 10 * WORDS, 10);
    STAY();
    return NULL;
}

__attribute__((noinline)) static void start(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, worker, (void*)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

__attribute__((noinline)) static void clear(void) {
    memset((void*)cleared, 1, sizeof cleared);
    STAY();
}

__attribute__((noinline)) static ssize_t read_input(void) {
    const int zeros = open("/dev/zero", O_RDONLY);
    const ssize_t got = read(zeros, input, sizeof input);
    close(zeros);
    for (size_t i = 0; i < sizeof input; i += PAGE) {
        if (input[i] != 0) return 0;
    }
    return got;
}

// The second touch of a page is not a first one, whoever makes it.
__attribute__((noinline)) static void again(void) {
    init(twice, 6);
    STAY();
}

int main(void) {
    init(twice, 6);
    first();
    second();
    third();
    descend(8);
    start();
    clear();
    again();
    puts(read_input() == sizeof input ? "right" : "wrong");
    return 0;
}
