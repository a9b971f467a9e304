// SPDX-License-Identifier: Apache-2.0
// Addresses that the program has unmapped stay free until it maps there again, although it starts
// threads, runs new code and allocates meanwhile.
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "rounds.h"

enum { STACK = 64 * 1024, THREADS = 8, SIZES = 3, BLOCKS = 3000, LIMIT = 100000 };

static const size_t sizes[SIZES] = {PAGE, 16 * PAGE, 4096 * (size_t)PAGE};
static char stacks[THREADS][STACK] __attribute__((aligned(16)));
static int ended[THREADS];

static int run(void* place) {
    *(volatile int*)place += 1;
    syscall(SYS_exit, 0);
    return 0;
}

// The C library's functions would map stacks.
static void start_threads(int* sum) {
    const int thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                       CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;
    for (int i = 0; i < THREADS; i++) {
        int* const id = &ended[i];
        CHECK(clone(run, stacks[i] + STACK, thread, sum, id, NULL, id) > 0);
        // The kernel clears it when the thread has left its stack.
        for (int n = 0; __atomic_load_n(id, __ATOMIC_SEQ_CST) != 0; n++) {
            CHECK(n < LIMIT);
            usleep(1000);
        }
    }
}

static void allocate(void) {
    for (int i = 0; i < BLOCKS; i++) {
        volatile char* block = malloc(64);
        CHECK(block != NULL);
        block[0] = 1;
        free((void*)block);
    }
}

static long work(void) {
    char* places[SIZES];
    int sum = 0;
    for (int i = 0; i < SIZES; i++) {
        places[i] =
            mmap(NULL, sizes[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(places[i] != MAP_FAILED);
        places[i][0] = 1;
    }
    for (int i = 0; i < SIZES; i++) CHECK(munmap(places[i], sizes[i]) == 0);
    start_threads(&sum);
    allocate();
    for (int i = 0; i < SIZES; i++) {
        // Fails if there is any mapping.
        CHECK(mmap(places[i], sizes[i], PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == places[i]);
        sum += places[i][0];
    }
    for (int i = 0; i < SIZES; i++) CHECK(munmap(places[i], sizes[i]) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    allocate();  // the heap has its memory
    return rounds(count, work);
}
