// SPDX-License-Identifier: Apache-2.0
// mapped MIB TIMES: maps the same MIB of shared memory TIMES times, all of it in the page tables,
// prints "ready", and waits. So a process can look large on a machine with little memory.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const size_t bytes = (size_t)atol(argv[1]) << 20;
    const int file = memfd_create("mapped", 0);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) return 1;
    for (long i = 0; i < atol(argv[2]); i++) {
        void* start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (start == MAP_FAILED || madvise(start, bytes, MADV_POPULATE_WRITE) != 0) return 1;
    }
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
