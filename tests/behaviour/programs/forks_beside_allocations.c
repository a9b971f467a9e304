// SPDX-License-Identifier: Apache-2.0
// Forks while other threads allocate, map and unmap memory, and touch new pages. At a fork, each of
// these threads may be in the middle of a change to a recorder's data. Children allocate, too.
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "rounds.h"

enum { THREADS = 3, CHILDREN = 25, ALLOCATIONS = 40, MOST = 100 * 1024 };

static atomic_int stopped;

static long allocate(unsigned seed) {
    char* blocks[ALLOCATIONS];
    long sum = 0;
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        const size_t bytes = 16 + (seed * 7919u + i * 104729u) % MOST;
        blocks[i] = malloc(bytes);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], (int)i, bytes);
    }
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        sum += blocks[i][15];
        free(blocks[i]);
    }
    char* mapped = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    for (int page = 0; page < 4; page++) mapped[page * PAGE] = 1;
    for (int page = 0; page < 4; page++) sum += mapped[page * PAGE];
    CHECK(munmap(mapped, 4 * PAGE) == 0);
    return sum;
}

static const long expected = (ALLOCATIONS - 1) * ALLOCATIONS / 2 + 4;

static void* allocate_on(void* number) {
    for (unsigned round = 0; !stopped; round++) CHECK(allocate(round + *(int*)number) == expected);
    return NULL;
}

static long work(void) {
    pthread_t threads[THREADS];
    int numbers[THREADS];
    long right = 0;

    stopped = 0;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i * 1000;
        CHECK(pthread_create(&threads[i], NULL, allocate_on, &numbers[i]) == 0);
    }
    for (unsigned i = 0; i < CHILDREN; i++) {
        int status;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(allocate(i) == expected ? 9 : 1);
        CHECK(waitpid(child, &status, 0) == child);
        right += WIFEXITED(status) && WEXITSTATUS(status) == 9;
    }
    stopped = 1;
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return right;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
