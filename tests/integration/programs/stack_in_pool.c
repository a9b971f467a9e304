// SPDX-License-Identifier: Apache-2.0
// The stack of a thread is a part of a mapping that the program also uses for data, as in Go's
// runtime. The thread writes each word of 64 pages of it once.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096, POOL = 4 << 20, STACK = 1 << 20, STACK_BYTES = 256 << 10, DATA = 2 << 20 };

static char* pool;

static void* write_data(void* nothing) {
    volatile uint64_t* data = (volatile uint64_t*)(pool + DATA);
    for (int i = 0; i < 64 * PAGE / 8; i++) data[i] = 1;
    return nothing;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED || pthread_attr_init(&attributes) != 0) return 2;
    if (pthread_attr_setstack(&attributes, pool + STACK, STACK_BYTES) != 0) return 2;
    if (pthread_create(&thread, &attributes, write_data, NULL) != 0) return 2;
    return pthread_join(thread, NULL);
}
