// SPDX-License-Identifier: Apache-2.0
// Causes hinting faults of the kernel's NUMA balancing, and faults for other reasons.
//
// balanced ROUNDS SCANS: four threads on four nodes use memory in ROUNDS rounds, or fewer if the
// kernel has scanned their memory SCANS times before. The kernel does not scan memory that is bound
// to nodes, so no fault there is a hinting fault.
#define _GNU_SOURCE
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest_program.h"

enum { PARTS_PAGES = 128, TURNS_PAGES = 64, HUGE_PAGE = 2 << 20, HUGE_WORDS = HUGE_PAGE / 8 };
enum { ACCESS = PROT_READ | PROT_WRITE, PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS };

// The parts of the threads in `parts`: a half, a quarter, and an eighth each.
static const int part_ends[NODES + 1] = {0, 64, 96, 112, PARTS_PAGES};

static uint64_t parts[PARTS_PAGES * WORDS_PER_PAGE] __attribute__((aligned(PAGE)));
static uint64_t turns[TURNS_PAGES * WORDS_PER_PAGE] __attribute__((aligned(PAGE)));
static Words huge, once, bound_copied, bound_read_first, bound_mapped;
static pthread_barrier_t barrier;
static volatile int rounds;
static int scans;

static void write_words(Words array, int first, int end) {
    for (int page = first; page < end; page++) array[page * WORDS_PER_PAGE] += 1;
}

static Words bound(Words at) {
    const int fixed = at == NULL ? 0 : MAP_FIXED;
    Words array = mmap((void*)at, BYTES, ACCESS, PRIVATE | fixed, -1, 0);
    const unsigned long nodes = 1;
    if (syscall(SYS_mbind, array, (long)BYTES, MPOL_BIND, &nodes, 8 * sizeof nodes, 0) != 0)
        fail("mbind");
    return array;
}

// The number of times that the kernel has scanned all memory of this process.
static int scans_done(void) {
    FILE* file = fopen("/proc/self/sched", "r");
    if (file == NULL) fail("/proc/self/sched");
    char line[256];
    int count = 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "mm->numa_scan_seq : %d", &count) == 1) break;
    fclose(file);
    return count;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Faults of thread 0 that do not come from the balancing.
static void fault_otherwise(void) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    write_words(bound_copied, 0, PAGES);
    waitpid(child, NULL, 0);
    madvise((void*)bound_read_first, BYTES, MADV_DONTNEED);
    for (int page = 0; page < PAGES; page++) (void)bound_read_first[page * WORDS_PER_PAGE];
    usleep(30000);
    write_words(bound_read_first, 0, PAGES);
    munmap((void*)bound_mapped, BYTES);
    bound_mapped = bound(bound_mapped);
    write_words(bound_mapped, 0, PAGES);
}

// `turns` is used by thread 0 in three rounds of four, else by thread 1: at random, as scans may
// come in step with anything regular.
static int turn(int round) {
    return (((uint32_t)round * 2654435761u) >> 16) % 4 == 3;
}

static void* work(void* argument) {
    const int thread = (int)(long)argument;
    write_words(parts, part_ends[thread], part_ends[thread + 1]);
    for (int round = 0; round < rounds; round++) {
        const double begin = now();
        while (now() < begin + 0.005) {
            for (int i = 0; i < 20; i++) {
                write_words(parts, part_ends[thread], part_ends[thread + 1]);
                if (thread == turn(round)) write_words(turns, 0, TURNS_PAGES);
                if (thread == 1) write_words(huge, 1, HUGE_PAGE / PAGE);
            }
        }
        if (thread == 0 && round % 40 == 20 && round < 100) fault_otherwise();
        pthread_barrier_wait(&barrier);
        if (thread == 0 && scans != 0 && scans_done() >= scans) rounds = 0;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int count, char** arguments) {
    rounds = count > 1 ? atoi(arguments[1]) : 200;
    scans = count > 2 ? atoi(arguments[2]) : 0;
    pin(0);
    char* two = mmap(NULL, 2 * HUGE_PAGE, ACCESS, PRIVATE, -1, 0);
    madvise(two, 2 * HUGE_PAGE, MADV_HUGEPAGE);
    huge = (Words)(((uintptr_t)two + HUGE_PAGE - 1) & -(uintptr_t)HUGE_PAGE);
    huge[0] = 1;
    once = mmap(NULL, BYTES, ACCESS, PRIVATE, -1, 0);
    write_words(once, 0, PAGES);
    bound_copied = bound(NULL);
    write_words(bound_copied, 0, PAGES);
    bound_read_first = bound(NULL);
    bound_mapped = bound(NULL);
    write_words(turns, 0, TURNS_PAGES);
    pthread_barrier_init(&barrier, NULL, NODES);
    pthread_t threads[NODES];
    for (long t = 0; t < NODES; t++) {
        pin((int)t);
        if (pthread_create(&threads[t], NULL, work, (void*)t) != 0) fail("pthread_create");
    }
    for (int t = 0; t < NODES; t++) pthread_join(threads[t], NULL);
    return 0;
}
