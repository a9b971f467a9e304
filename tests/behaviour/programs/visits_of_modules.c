// SPDX-License-Identifier: Apache-2.0
// Visitors of dl_iterate_phdr allocate, and take a lock that other threads hold while they
// allocate.
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>

#include "rounds.h"

enum { VISITS = 100, BLOCKS = 1000, DEPTHS = 60, BYTES = 32 * 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Allocates with another call stack for each depth.
static long allocate(int depth) {
    if (depth > 0) {
        const long sum = allocate(depth - 1);
        __asm__ volatile("" ::: "memory");  // no tail call
        return sum;
    }
    char* block = malloc(BYTES);
    CHECK(block != NULL);
    block[BYTES - 1] = 1;
    const long sum = block[BYTES - 1];
    free(block);
    return sum;
}

static int visit(struct dl_phdr_info* module, size_t bytes, void* sum) {
    (void)module;
    (void)bytes;
    CHECK(pthread_mutex_lock(&lock) == 0);
    *(long*)sum += allocate((int)(*(long*)sum % DEPTHS));
    CHECK(pthread_mutex_unlock(&lock) == 0);
    return 0;
}

static void* visit_often(void* unused) {
    long sum = 0;
    for (int i = 0; i < VISITS; i++) dl_iterate_phdr(visit, &sum);
    CHECK(sum >= VISITS);
    return unused;
}

static void* allocate_often(void* unused) {
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(pthread_mutex_lock(&lock) == 0);
        CHECK(allocate(i % DEPTHS) == 1);
        CHECK(pthread_mutex_unlock(&lock) == 0);
        CHECK(allocate((i + 1) % DEPTHS) == 1);
    }
    return unused;
}

static long work(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, i % 2 ? visit_often : allocate_often, NULL) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return VISITS + BLOCKS;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
