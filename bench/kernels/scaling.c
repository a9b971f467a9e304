// SPDX-License-Identifier: Apache-2.0
// scaling KIND COUNT: increases one quantity that a recorder must handle, and does an amount of
// work that is known. It prints how many elements it incremented, each by one read and one write:
// the recording must find the same number.
//
// threads      COUNT threads at the same time, each with its own page
// phases       COUNT phases with names of their own
// allocations  COUNT blocks at the same time, allocated by one statement
// stacks       COUNT blocks, each allocated by another call stack
// memory       COUNT MiB of addresses, of which each MiB has one page in use
// seconds      COUNT seconds of CPU time
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "numascape/phase.h"
#include "size.h"

enum { MAX_THREADS = 1024, PAGE_LONGS = 512, BLOCK_LONGS = 8 };
// Elements that all threads or phases together increment.
enum { TOTAL = 1 << 28 };

static volatile long cells[MAX_THREADS][PAGE_LONGS] __attribute__((aligned(4096)));

static void increment(volatile long* page, long elements) {
    for (long i = 0; i < elements; i++) page[i % PAGE_LONGS]++;
}

struct task {
    volatile long* page;
    long elements;
};

static void* run_task(void* argument) {
    const struct task* task = argument;
    increment(task->page, task->elements);
    return NULL;
}

static long threads(long count) {
    static pthread_t handles[MAX_THREADS];
    static struct task tasks[MAX_THREADS];
    if (count > MAX_THREADS) return -1;
    for (long i = 0; i < count; i++) {
        tasks[i] = (struct task){cells[i], TOTAL / count};
        if (pthread_create(&handles[i], NULL, run_task, &tasks[i]) != 0) return -1;
    }
    for (long i = 0; i < count; i++) pthread_join(handles[i], NULL);
    return TOTAL / count * count;
}

static long phases(long count) {
    for (long i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "step %ld", i);
        numascape_phase(name);
        increment(cells[0], TOTAL / count);
    }
    return TOTAL / count * count;
}

static long allocations(long count) {
    volatile long** kept = malloc((size_t)count * sizeof *kept);
    if (!kept) return -1;
    for (long i = 0; i < count; i++) {
        volatile long* block = calloc(BLOCK_LONGS, sizeof *block);
        if (!block) return -1;
        increment(block, BLOCK_LONGS);
        kept[i] = block;
    }
    for (long i = 0; i < count; i++) free((void*)kept[i]);
    free((void*)kept);
    return count * BLOCK_LONGS;
}

static long left(long path, int depth);
static long right(long path, int depth);

// The bits of `path` say which of two functions calls the next one: 2^depth call stacks.
static long follow(long path, int depth) {
    if (depth > 0) return path & 1 ? left(path >> 1, depth - 1) : right(path >> 1, depth - 1);
    volatile long* block = calloc(BLOCK_LONGS, sizeof *block);
    if (!block) return -1;
    increment(block, BLOCK_LONGS);
    return BLOCK_LONGS;
}

// The code after the call prevents a tail call: that is a jump, and leaves no frame.
__attribute__((noinline)) static long left(long path, int depth) {
    return follow(path, depth) + (cells[0][0] & 0);
}
__attribute__((noinline)) static long right(long path, int depth) {
    return follow(path, depth) - (cells[0][1] & 0);
}

static long stacks(long count) {
    int depth = 0;
    while ((1L << depth) < count) depth++;
    long done = 0;
    for (long i = 0; i < count; i++) done += follow(i, depth);
    return done;
}

static long memory(long mebibytes) {
    const size_t step = 1 << 20, bytes = (size_t)mebibytes * step;
    char* sparse = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sparse == MAP_FAILED) return -1;
    madvise(sparse, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += step)
        increment((volatile long*)(sparse + at), PAGE_LONGS);
    return mebibytes * PAGE_LONGS;
}

static long seconds(long count) {
    long done = 0;
    struct timespec now;
    do {
        increment(cells[0], 1 << 20);
        done += 1 << 20;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec < count);
    return done;
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        long (*run)(long);
    } kinds[] = {{"threads", threads}, {"phases", phases}, {"allocations", allocations},
                 {"stacks", stacks},   {"memory", memory}, {"seconds", seconds}};
    const long count = size_argument(argc, argv, 2, 1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (argc < 2 || strcmp(kinds[i].name, argv[1]) != 0) continue;
        const long done = kinds[i].run(count);
        if (done < 0) return 1;
        printf("%ld\n", done);
        return 0;
    }
    fprintf(stderr, "usage: %s threads|phases|allocations|stacks|memory|seconds COUNT\n", argv[0]);
    return 2;
}
