// SPDX-License-Identifier: Apache-2.0
// A program with its own malloc, which its threads, the C library and a recorder use.
#define _GNU_SOURCE
#include <pthread.h>

#include "rounds.h"

enum { HEAP = 64 << 20, HEADER = 64, THREADS = 3, BLOCKS = 200, BYTES = 5000, SIZES = 27 };

// A block of 2^i bytes begins with its header.
struct header {
    struct header* next;
    size_t bytes;
    int size;
};

static char heap[HEAP] __attribute__((aligned(HEADER)));
static size_t used;
static struct header* free_blocks[SIZES];
static volatile int locked;
static __thread long blocks;

static void lock(void) {
    while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE)) usleep(1);
}

static void unlock(void) {
    __atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

void* malloc(size_t bytes) {
    int size = 7;
    while (size < SIZES && (size_t)1 << size < bytes + HEADER) size++;
    if (size == SIZES) return NULL;
    lock();
    struct header* block = free_blocks[size];
    if (block != NULL) {
        free_blocks[size] = block->next;
    } else if (used + ((size_t)1 << size) <= HEAP) {
        block = (struct header*)(heap + used);
        used += (size_t)1 << size;
    }
    unlock();
    if (block == NULL) return NULL;
    block->bytes = bytes;
    block->size = size;
    blocks++;
    return (char*)block + HEADER;
}

void free(void* memory) {
    if (memory == NULL) return;
    struct header* block = (struct header*)((char*)memory - HEADER);
    CHECK((char*)block >= heap && (char*)block < heap + HEAP);
    lock();
    block->next = free_blocks[block->size];
    free_blocks[block->size] = block;
    unlock();
    blocks--;
}

void* calloc(size_t count, size_t bytes) {
    void* block = malloc(count * bytes);
    return block == NULL ? NULL : memset(block, 0, count * bytes);
}

void* realloc(void* former, size_t bytes) {
    void* block = malloc(bytes);
    if (block != NULL && former != NULL) {
        const size_t before = ((struct header*)((char*)former - HEADER))->bytes;
        memcpy(block, former, before < bytes ? before : bytes);
        free(former);
    }
    return block;
}

static void* allocate(void* unused) {
    const long before = blocks;
    for (int i = 0; i < BLOCKS; i++) {
        char* block = malloc(BYTES + i);
        CHECK(block != NULL);
        block[i] = 1;
        block = realloc(block, 2 * BYTES);
        CHECK(block != NULL && block[i] == 1);
        free(block);
    }
    CHECK(blocks == before);
    return unused;
}

static long work(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, allocate, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return THREADS * BLOCKS;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
