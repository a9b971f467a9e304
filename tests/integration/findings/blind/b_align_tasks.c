// SPDX-License-Identifier: Apache-2.0
// Aligns sequences by dynamic programming, one pair after the other in the same table. A block of
// the table is a task that depends on the blocks above and to the left. A row of the table is a
// page; one task at a time works on it, but its four blocks, and the same block for the next pair,
// go to any thread. The sequences are small and only read.
// label: table = pages change users
// action: table = divide
// label: subjects = cache-resident
// action: subjects = none
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    ROWS = 2048,
    COLUMNS = 1024,
    TALL = 128,
    WIDE = 256,
    DOWN = ROWS / TALL,
    ACROSS = COLUMNS / WIDE,
    PAIRS = 12
};

static char query[ROWS];
static char subjects[PAIRS][COLUMNS];

static void read_sequences(void) {
    uint32_t state = 11;
    for (int i = 0; i < ROWS; i++) {
        state = state * 1664525U + 1013904223U;
        query[i] = "ACGT"[state >> 30];
    }
    for (int i = 0; i < PAIRS * COLUMNS; i++) {
        state = state * 1664525U + 1013904223U;
        subjects[i / COLUMNS][i % COLUMNS] = "ACGT"[state >> 30];
    }
}

static void fill_block(int32_t* table, const char* subject, int row, int column) {
    for (int i = row; i < row + TALL; i++) {
        int32_t* own = table + (size_t)i * COLUMNS;
        const int32_t* above = own - COLUMNS;
        int32_t left = column ? own[column - 1] : 0;
        int32_t corner = i && column ? above[column - 1] : 0;
        for (int j = column; j < column + WIDE; j++) {
            int32_t up = i ? above[j] : 0;
            int32_t score = query[i] == subject[j] ? corner + 1 : (left > up ? left : up);
            own[j] = score;
            corner = up;
            left = score;
        }
    }
}

static void align(int32_t* table, const char* subject) {
    // Only the addresses count: one entry per block, with a border above and to the left.
    char done[DOWN + 1][ACROSS + 1];
    memset(done, 0, sizeof done);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < DOWN; i++) {
        for (int j = 0; j < ACROSS; j++) {
#pragma omp task depend(in : done[i][j + 1], done[i + 1][j]) depend(out : done[i + 1][j + 1])
            fill_block(table, subject, i * TALL, j * WIDE);
        }
    }
}

int main(void) {
    read_sequences();
    size_t bytes = sizeof(int32_t) * ROWS * COLUMNS;
    int32_t* table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) return 1;
    long total = 0;
    for (int pair = 0; pair < PAIRS; pair++) {
        align(table, subjects[pair]);
        total += table[(size_t)ROWS * COLUMNS - 1];
    }
    printf("total length %ld\n", total);
    munmap(table, bytes);
    return 0;
}
