// SPDX-License-Identifier: Apache-2.0
// Structures of many kinds, all touched first by main, and threads. Only the plan then determines
// the places of pages and threads; prints the answers of the kernel.
//
// planned THREADS SPILLED_MIB
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "node_report.h"

enum { PAGE = 4096, PAGES = 64, BYTES = PAGES * PAGE, ROWS = 50, MOST_THREADS = 64 };

static char table[BYTES] = {1};
static char buffer[BYTES];
static char before[BYTES];
static char* rows[ROWS];
static pthread_barrier_t barrier;

__attribute__((constructor)) static void touch_before(void) {
    memset(before, 1, sizeof before);
}

static void* touched(void* memory, size_t bytes) {
    if (memory == NULL) abort();
    memset(memory, 1, bytes);
    return memory;
}

static void* work(void* number) {
    pthread_barrier_wait(&barrier);  // all run at once
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    report_cpu("thread", (int)(long)number);
    pthread_mutex_unlock(&one);
    return NULL;
}

static int work_c11(void* number) {
    report_cpu("thread", (int)(long)number);
    return 0;
}

static void* sleep_named(void* unused) {
    pthread_barrier_wait(&barrier);
    report_cpu("named", 0);
    return unused;
}

static void run_threads(int threads) {
    pthread_t started[MOST_THREADS];
    report_cpu("thread", 0);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads - 1);
    for (long t = 1; t < threads; t++) pthread_create(&started[t], NULL, work, (void*)t);
    for (int t = 1; t < threads; t++) pthread_join(started[t], NULL);

    thrd_t other;
    thrd_create(&other, work_c11, (void*)(long)threads);
    thrd_join(other, NULL);

    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&started[0], NULL, sleep_named, NULL);
    pthread_setname_np(started[0], "sleeper");
    pthread_barrier_wait(&barrier);
    pthread_join(started[0], NULL);
}

static void run_heap(void) {
    char* divided = touched(malloc(BYTES), BYTES);
    char* dealt = touched(calloc(PAGES, PAGE), BYTES);
    char* interleaved = touched(memalign(1 << 16, BYTES), BYTES);
    void* bound = NULL;
    if (posix_memalign(&bound, 64, BYTES) != 0) abort();
    touched(bound, BYTES);
    char* grown = touched(malloc(5 * PAGE), 5 * PAGE);
    grown = realloc(grown, BYTES);
    memset(grown + 5 * PAGE, 1, BYTES - 5 * PAGE);
    char* unplanned = touched(malloc(BYTES), BYTES);
    for (int i = 0; i < ROWS; i++) rows[i] = touched(malloc(2 * PAGE), 2 * PAGE);
    report_nodes("divided", divided, BYTES);
    report_nodes("dealt", dealt, BYTES);
    report_nodes("interleaved", interleaved, BYTES);
    report_nodes("bound", bound, BYTES);
    report_nodes("grown", grown, BYTES);
    report_nodes("unplanned", unplanned, BYTES);
    for (int i = 0; i < ROWS; i++) report_nodes("rows", rows[i], 2 * PAGE);
    for (int i = 0; i < BYTES; i += PAGE) {
        if (grown[i] != 1 || (size_t)interleaved % (1 << 16) != 0) abort();
    }
    free(divided);
    free(grown);
    free(dealt);
}

int main(int count, char** words) {
    const size_t spilled_bytes = count > 2 ? strtoul(words[2], NULL, 10) << 20 : 0;
    run_threads(count > 1 ? atoi(words[1]) : 1);
    run_heap();
    touched(buffer, BYTES);
    report_nodes("table", table, BYTES);
    report_nodes("buffer", buffer, BYTES);
    report_nodes("before", before, BYTES);
    char* mapped = touched(
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), BYTES);
    report_nodes("mapped", mapped, BYTES);
    munmap(mapped, BYTES);
    const pid_t child = fork();
    if (child == 0) {
        char* forked = touched(malloc(BYTES), BYTES);
        report_nodes("forked", forked, BYTES);
        report_cpu("child", 0);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    if (spilled_bytes > 0) {
        char* spilled = touched(malloc(spilled_bytes), spilled_bytes);
        report_nodes("spilled", spilled, spilled_bytes);
    }
    return 7;
}
