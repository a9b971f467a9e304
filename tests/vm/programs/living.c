// SPDX-License-Identifier: Apache-2.0
// living FILE [BREATH]: works with its memory until it is told to end, and prints the nodes of its
// pages. Its threads sleep BREATH microseconds after each pass.
//
// Its memory: the variable `table`, the mapping `anonymous`, the mapping `shared` (shared memory
// that a child maps, too), and FILE, mapped read-only. Two threads write and check their halves of
// the first two again and again, and read the file.
//
// On standard input, a line: `where` prints "name: n n n ..." for each of them, its pages' nodes as
// move_pages(2) reports (-2: not in memory), and "."; `passes` prints how often all was checked;
// `end` ends with status 0, or 1 if a word was not what it was written as. The first lines printed
// are "name address pages" for each, and ".".
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_report.h"

enum { PAGE = 4096, TABLE = 256, ANONYMOUS = 1024, SHARED = 64, THREADS = 2, WORDS = PAGE / 8 };

uint64_t table[TABLE * WORDS] __attribute__((aligned(PAGE)));
static uint64_t* anonymous;
static uint64_t* shared;
static const unsigned char* file;
static useconds_t breath_us = 2000;
static size_t file_bytes;
static atomic_bool ended;
static atomic_long wrong;
static atomic_long passes[THREADS];

static void fail(const char* what) {
    perror(what);
    exit(2);
}

static void write_words(uint64_t* array, size_t first, size_t end, uint64_t seed) {
    for (size_t i = first; i < end; i += 8) {
        array[i] = i * 0x9E3779B97F4A7C15u + seed;
    }
}

static long wrong_words(const uint64_t* array, size_t first, size_t end, uint64_t seed) {
    long found = 0;
    for (size_t i = first; i < end; i += 8) {
        found += array[i] != i * 0x9E3779B97F4A7C15u + seed;
    }
    return found;
}

static uint64_t file_sum(void) {
    uint64_t sum = 0;
    for (size_t i = 0; i < file_bytes; i += 64) {
        sum = sum * 31 + file[i];
    }
    return sum;
}

static void* work(void* number_) {
    const long number = (long)number_;
    const size_t table_half = TABLE * WORDS / THREADS, half = (size_t)ANONYMOUS * WORDS / THREADS;
    const size_t a = number * table_half, b = number * half;
    const uint64_t sum = file_sum();
    for (uint64_t pass = 1; !ended; pass++) {
        write_words(table, a, a + table_half, pass);
        write_words(anonymous, b, b + half, ~pass);
        wrong += wrong_words(table, a, a + table_half, pass);
        wrong += wrong_words(anonymous, b, b + half, ~pass);
        wrong += file_sum() != sum;
        passes[number]++;
        usleep(breath_us);
    }
    return NULL;
}

static void* map(size_t pages, int how) {
    // The kernel joins a mapping with its neighbours, such as a thread's stack, if they are alike.
    const size_t guard = how == MAP_PRIVATE ? PAGE : 0;
    const size_t bytes = pages * PAGE;
    char* begin = mmap(NULL, bytes + 2 * guard, PROT_NONE, how | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) fail("mmap");
    char* start = begin + guard;
    if (mprotect(start, bytes, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
    madvise(start, pages * PAGE, MADV_NOHUGEPAGE);
    return start;
}

static void map_file(const char* path) {
    const int descriptor = open(path, O_RDONLY);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) fail(path);
    file_bytes = (size_t)status.st_size;
    void* start = mmap(NULL, file_bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (start == MAP_FAILED) fail(path);
    file = start;
    close(descriptor);
}

static void answer(const char* line) {
    if (strcmp(line, "where\n") == 0) {
        report_nodes("table", table, sizeof table);
        report_nodes("anonymous", anonymous, (size_t)ANONYMOUS * PAGE);
        report_nodes("shared", shared, SHARED * PAGE);
        report_nodes("file", file, file_bytes);
        puts(".");
    } else if (strcmp(line, "passes\n") == 0) {
        printf("%ld\n", passes[0] < passes[1] ? passes[0] : passes[1]);
    } else {
        ended = true;
    }
    fflush(stdout);
}

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) return 2;
    if (argc == 3) breath_us = (useconds_t)atoi(argv[2]);
    map_file(argv[1]);
    anonymous = map(ANONYMOUS, MAP_PRIVATE);
    shared = map(SHARED, MAP_SHARED);
    memset(shared, 1, SHARED * PAGE);
    int alive[2];
    if (pipe(alive) != 0) fail("pipe");
    const pid_t child = fork();
    if (child == 0) {
        // This child keeps `shared` mapped until its parent has ended. It shares no other pages
        // that are written.
        uint64_t sum = 0;
        for (size_t i = 0; i < SHARED * WORDS; i++) sum += shared[i];
        char byte = sum != 0;
        close(alive[1]);
        _exit(read(alive[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(alive[0]);
    write_words(table, 0, TABLE * WORDS, 0);
    write_words(anonymous, 0, (size_t)ANONYMOUS * WORDS, 0);
    printf("table %p %d\nanonymous %p %d\nshared %p %d\nfile %p %zu\n.\n", (void*)table, TABLE,
           (void*)anonymous, ANONYMOUS, (void*)shared, SHARED, (const void*)file,
           (file_bytes + PAGE - 1) / PAGE);
    fflush(stdout);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, (void*)i) != 0) fail("pthread_create");
    }
    char line[64];
    while (!ended && fgets(line, sizeof line, stdin) != NULL) answer(line);
    ended = true;
    for (long i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    close(alive[1]);
    waitpid(child, NULL, 0);
    return wrong == 0 ? 0 : 1;
}
