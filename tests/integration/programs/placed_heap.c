// SPDX-License-Identifier: Apache-2.0
// Every way into the heap and out of it, large and small, by several threads, each of which frees
// what others allocated. Contents are checked; prints "sound" if all are right. All large blocks
// are called `block`.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, SLOTS = 64, ROUNDS = 4000 };

struct entry {
    unsigned char* memory;
    size_t bytes;
};

static struct entry slots[SLOTS];
static pthread_mutex_t locks[SLOTS];

static void check(bool is_right, int line) {
    if (is_right) return;
    printf("wrong in line %d\n", line);
    exit(1);
}
#define CHECK(condition) check(condition, __LINE__)

static unsigned next(unsigned* state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static unsigned char* allocate(size_t bytes, unsigned kind) {
    unsigned char* block = NULL;
    switch (kind % 6) {
        case 0:
            block = malloc(bytes);
            break;
        case 1:
            block = calloc(bytes, 1);
            for (size_t i = 0; i < bytes; i += 61) CHECK(block[i] == 0);
            break;
        case 2:
            block = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
            CHECK((uintptr_t)block % 64 == 0);
            break;
        case 3:
            CHECK(posix_memalign((void**)&block, 1 << 14, bytes) == 0);
            CHECK((uintptr_t)block % (1 << 14) == 0);
            break;
        case 4:
            block = memalign(256, bytes);
            break;
        default:
            block = reallocarray(NULL, bytes, 1);
    }
    CHECK(block != NULL && malloc_usable_size(block) >= bytes);
    return block;
}

static void fill(struct entry* entry) {
    memset(entry->memory, (int)(entry->bytes % 251), entry->bytes);
}

static void check_content(const struct entry* entry, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 53) CHECK(entry->memory[i] == entry->bytes % 251);
    if (bytes > 0) CHECK(entry->memory[bytes - 1] == entry->bytes % 251);
}

static void change(struct entry* entry, unsigned* state) {
    const size_t bytes = next(state) % 4 == 0 ? next(state) % 200000 + 1 : next(state) % 6000 + 1;
    if (entry->memory == NULL) {
        entry->memory = allocate(bytes, next(state));
    } else if (next(state) % 2 == 0) {
        check_content(entry, entry->bytes);
        unsigned char* block = realloc(entry->memory, bytes);
        CHECK(block != NULL);
        entry->memory = block;
        check_content(entry, bytes < entry->bytes ? bytes : entry->bytes);
    } else {
        check_content(entry, entry->bytes);
        free(entry->memory);
        entry->memory = NULL;
        return;
    }
    entry->bytes = bytes;
    fill(entry);
}

static void* work(void* number) {
    unsigned state = (unsigned)(uintptr_t)number;
    for (int round = 0; round < ROUNDS; round++) {
        const unsigned slot = next(&state) % SLOTS;
        pthread_mutex_lock(&locks[slot]);
        change(&slots[slot], &state);
        pthread_mutex_unlock(&locks[slot]);
    }
    return NULL;
}

int main(void) {
    for (int i = 0; i < SLOTS; i++) pthread_mutex_init(&locks[i], NULL);
    pthread_t threads[THREADS];
    for (uintptr_t t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void*)t);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    for (int i = 0; i < SLOTS; i++) free(slots[i].memory);

    // Other promises of these functions.
    errno = 0;
    free(NULL);
    CHECK(malloc(PTRDIFF_MAX) == NULL && errno == ENOMEM);
    volatile size_t half = SIZE_MAX / 2;
    CHECK(calloc(half, 3) == NULL && reallocarray(NULL, half, 3) == NULL);
    void* block = NULL;
    CHECK(posix_memalign(&block, 3, 100000) == EINVAL);
    errno = 77;
    block = malloc(100000);
    CHECK(errno == 77);
    block = realloc(block, 100);
    CHECK(block != NULL && realloc(block, 0) == NULL);
    printf("sound\n");
    return 0;
}
