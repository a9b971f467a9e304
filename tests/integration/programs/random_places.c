// SPDX-License-Identifier: Apache-2.0
// Maps memory at addresses all over the address space, as engines for JavaScript do, and writes a
// word of each of PAGES pages again and again until SIGUSR1; with an argument, once.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 4 };

// Addresses between those of DynamoRIO, the recorder and its tables. No two have the same last 40
// bits.
static const uint64_t places[] = {0x0c8100000000, 0x0d8200000000, 0x0f8300000000, 0x1f0400000000,
                                  0x2a8500000000, 0x3e0600000000, 0x4a0700000000, 0x520800000000};
enum { PLACES = sizeof places / sizeof places[0] };

static volatile sig_atomic_t stopped;

static void stop(int number) {
    (void)number;
    stopped = 1;
}

int main(int count, char** words) {
    (void)words;
    char* memory[PLACES];
    signal(SIGUSR1, stop);
    for (int i = 0; i < PLACES; ++i) {
        memory[i] = mmap((void*)places[i], PAGES * PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (memory[i] == MAP_FAILED) return 1;
    }
    puts("ready");
    fflush(stdout);
    do {
        for (int i = 0; i < PLACES; ++i)
            for (int page = 0; page < PAGES; ++page)
                *(volatile long*)(memory[i] + page * PAGE) += 1;
    } while (count == 1 && !stopped);
    return 42;
}
