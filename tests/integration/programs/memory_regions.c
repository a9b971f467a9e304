// SPDX-License-Identifier: Apache-2.0
// memory_regions MODE: accesses to parts of memory that the program names, known in closed form.
// The loops of kernels.h make all accesses. Memory outside of regions belongs to the pool.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels.h"
#include "numascape/region.h"

static const long PAGES = 64, WORDS = PAGE / 8;

static char* new_pool(void) {
    char* pool = (char*)mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED) exit(1);
    return pool;
}

static void write_pages(char* pool, long first, long pages) {
    write_strided(pool + first * PAGE, pages * WORDS, 8);
}

static void read_pages(char* pool, long first, long pages) {
    read_strided(pool + first * PAGE, pages * WORDS, 8);
}

// Main writes the pool before it names parts of it.
static void mapped(void) {
    char* pool = new_pool();
    write_pages(pool, 0, PAGES);
    numascape_region("cells", pool + 8 * PAGE, 8 * PAGE);
    numascape_region("faces", pool + 16 * PAGE, 4 * PAGE);
    read_pages(pool, 0, PAGES);
    numascape_region_end(pool + 8 * PAGE);
    write_pages(pool, 8, 8);
    numascape_region("cells", pool + 32 * PAGE, 2 * PAGE);  // another instance
    write_pages(pool, 32, 2);
    numascape_region(NULL, pool, PAGE);
    numascape_region("", pool, PAGE);
    read_pages(pool, 0, 1);
}

// A block of the heap with a region in it: the region ends when the block is freed. The allocator
// then uses the memory again.
static void freed(void) {
    for (int i = 0; i < 3; ++i) {
        char* block = (char*)malloc((size_t)PAGES * PAGE);
        char* start = block + (PAGE - (long)block % PAGE);
        numascape_region("part", start, 8 * PAGE);
        write_pages(start, 0, 8);
        read_pages(start, 8, 8);
        free(block);
    }
}

// Later regions have priority. A region that ends gives its pages back.
static void nested(void) {
    char* pool = new_pool();
    numascape_region("outer", pool, 32 * PAGE);
    numascape_region("inner", pool, 8 * PAGE);
    numascape_region("innermost", pool + 4 * PAGE, 2 * PAGE);
    write_pages(pool, 0, 32);
    numascape_region_end(pool + 4 * PAGE);
    read_pages(pool, 4, 2);
    numascape_region_end(pool);
    read_pages(pool, 0, 8);
    numascape_region("inner", pool, 8 * PAGE);
    numascape_region("over all", pool, 16 * PAGE);  // ends the region before
    numascape_region_end(pool);
    add_strided(pool, 8 * WORDS, 8);
    numascape_region("overlapping", pool + 30 * PAGE, 4 * PAGE);
    read_pages(pool, 28, 8);
    numascape_region_end(pool + 30 * PAGE);
    numascape_region_end(pool + 30 * PAGE);  // there is no region to end
    read_pages(pool, 30, 2);
}

// Parts of half a page, and of 2.5 pages.
static void small(void) {
    char* pool = new_pool();
    numascape_region("whole", pool, PAGE);
    numascape_region("half", pool, PAGE / 2);
    numascape_region_end(pool);  // of the half; the whole region continues
    write_pages(pool, 0, 1);
    for (long i = 4; i < 8; ++i) {
        numascape_region("first halves", pool + i * PAGE, PAGE / 2);
    }
    write_pages(pool, 4, 4);
    numascape_region("uneven", pool + 16 * PAGE + PAGE / 2, 5 * PAGE / 2);
    write_pages(pool, 16, 4);
}

static void* work(void* argument) {
    char* part = (char*)argument;
    numascape_region("of a thread", part, 4 * PAGE);
    write_pages(part, 0, 4);
    numascape_region_end(part);
    return NULL;
}

static void threads(void) {
    char* pool = new_pool();
    pthread_t thread[4];
    for (long i = 0; i < 4; ++i) {
        pthread_create(&thread[i], NULL, work, pool + i * 4 * PAGE);
    }
    for (long i = 0; i < 4; ++i) pthread_join(thread[i], NULL);
}

// The child has the regions that live, and can end them.
static void forking(void) {
    char* pool = new_pool();
    numascape_region("outer", pool, 16 * PAGE);
    numascape_region("kept", pool, 4 * PAGE);
    numascape_region("gone", pool + 32 * PAGE, 4 * PAGE);
    munmap(pool + 32 * PAGE, 4 * PAGE);
    write_pages(pool, 0, 4);
    const pid_t child = fork();
    if (child == 0) {
        add_strided(pool, 4 * WORDS, 8);
        numascape_region_end(pool);
        read_pages(pool, 0, 4);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

// Unusual names, and one that is not text.
static void names(void) {
    char* pool = new_pool();
    char name[600];
    memset(name, 'x', sizeof name);
    numascape_region(name, pool, PAGE);
    numascape_region("<b>\033[31m\xff", pool + PAGE, PAGE);
    numascape_region((const char*)1, pool + 2 * PAGE, PAGE);
    numascape_region("too long", pool + 3 * PAGE, (size_t)-PAGE);
    write_pages(pool, 0, 4);
}

// Like an allocator of the program: it does not end its regions.
static void reused(void) {
    char* pool = new_pool();
    for (long i = 0; i < 5000; ++i) {
        numascape_region("turn", pool + i % 8 * 4 * PAGE, 4 * PAGE);
        write_strided(pool + i % 8 * 4 * PAGE, 1, 8);
    }
}

static void endless(void) {
    char* pool = new_pool();
    numascape_region("before", pool, 4 * PAGE);
    puts("ready");
    fflush(stdout);
    for (;;) {
        numascape_region("told", pool + 8 * PAGE, 4 * PAGE);
        write_pages(pool, 8, 4);
        numascape_region_end(pool + 8 * PAGE);
    }
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "mapped") == 0) mapped();
    if (strcmp(mode, "freed") == 0) freed();
    if (strcmp(mode, "nested") == 0) nested();
    if (strcmp(mode, "small") == 0) small();
    if (strcmp(mode, "threads") == 0) threads();
    if (strcmp(mode, "forking") == 0) forking();
    if (strcmp(mode, "names") == 0) names();
    if (strcmp(mode, "reused") == 0) reused();
    if (strcmp(mode, "endless") == 0) endless();
    return 0;
}
