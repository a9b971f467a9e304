// SPDX-License-Identifier: Apache-2.0
//
// A preload library for the tests: writes the call stack of each large allocation as a line
// "SIZE PC PC ..." (hexadecimal, innermost first, starting at the allocation function's caller),
// and at the end the process' mappings, to the file that ALLOCATION_LOG names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kSmallest = 100000, kDeepest = 64 };

static int log_file = -1;
static __thread int inside;

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

static void copy_mappings(void) {
    char buffer[4096];
    ssize_t length;
    const int maps = open("/proc/self/maps", O_RDONLY);
    while ((length = read(maps, buffer, sizeof buffer)) > 0) {
        if (write(log_file, buffer, (size_t)length) != length) break;
    }
    close(maps);
}

__attribute__((constructor)) static void start(void) {
    void* warm_up[2];
    backtrace(warm_up, 2);
    log_file = open(getenv("ALLOCATION_LOG"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    atexit(copy_mappings);
}

static __attribute__((noinline)) void log_call_stack(size_t size) {
    if (size < kSmallest || log_file < 0 || inside) return;
    inside = 1;
    void* pcs[kDeepest];
    const int count = backtrace(pcs, kDeepest);
    char line[kDeepest * 20];
    int length = snprintf(line, sizeof line, "%zu", size);
    // The first two are this function and the hook.
    for (int i = 2; i < count; ++i) {
        length += snprintf(line + length, sizeof line - (size_t)length, " %zx", (size_t)pcs[i]);
    }
    line[length++] = '\n';
    if (write(log_file, line, (size_t)length) != length) abort();
    inside = 0;
}

// The stores keep the calls from becoming jumps, which would leave the hook's frame out.
#define HOOKED(allocation, size)         \
    void* volatile block = (allocation); \
    log_call_stack(size);                \
    return block

void* malloc(size_t size) {
    HOOKED(__libc_malloc(size), size);
}
void* calloc(size_t count, size_t size) {
    HOOKED(__libc_calloc(count, size), count * size);
}
void* realloc(void* old, size_t size) {
    HOOKED(__libc_realloc(old, size), size);
}
void* memalign(size_t alignment, size_t size) {
    HOOKED(__libc_memalign(alignment, size), size);
}
void* aligned_alloc(size_t alignment, size_t size) {
    HOOKED(__libc_memalign(alignment, size), size);
}

int posix_memalign(void** result, size_t alignment, size_t size) {
    *result = __libc_memalign(alignment, size);
    log_call_stack(size);
    return *result == NULL ? ENOMEM : 0;
}
