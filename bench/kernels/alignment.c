// SPDX-License-Identifier: Apache-2.0
// Reads or writes words of 8 bytes in two pages, each 16 bytes after the one before. With an offset
// from 9 to 15, every fourth word is in two cache lines, and two words of a round are in two pages.
// Usage: alignment [OFFSET [WRITES]], both plus 1
#include <stdint.h>
#include <string.h>

#include "size.h"

enum { BYTES = 8192, STEP = 16, ROUNDS = 400000 };

static char memory[BYTES + 64] __attribute__((aligned(4096)));

static uint64_t read_words(const char* from) {
    uint64_t sum = 0;
    for (int i = 0; i < BYTES; i += STEP) {
        uint64_t word;
        memcpy(&word, from + i, sizeof word);
        sum += word;
    }
    return sum;
}

static void write_words(char* to, uint64_t word) {
    for (int i = 0; i < BYTES; i += STEP) {
        memcpy(to + i, &word, sizeof word);
        __asm__ volatile("" ::: "memory");
    }
}

int main(int argc, char** argv) {
    char* start = memory + size_argument(argc, argv, 1, 1) - 1;
    const int writes = size_argument(argc, argv, 2, 1) == 2;
    uint64_t sum = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        if (writes) {
            write_words(start, round);
        } else {
            sum += read_words(start);
            __asm__ volatile("" : "+r"(sum)::"memory");
        }
    }
    printf("sum: %llu\n", (unsigned long long)sum);
    return 0;
}
