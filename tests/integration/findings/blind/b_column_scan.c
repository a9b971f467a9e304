// SPDX-License-Identifier: Apache-2.0
// Scans columns of a table into a bitmap and sums the selected rows. The columns are static arrays;
// the loop that fills them has the same static schedule as the scans, so each thread has touched
// the pages it works on. The main thread checks a few rows at the end.
// label: price = partitioned
// action: price = none
// label: quantity = partitioned
// action: quantity = none
// label: run = no NUMA problem
#include <stdint.h>
#include <stdio.h>

enum { WORDS = 1 << 15, ROWS = WORDS * 64, QUERIES = 10 };

static uint32_t price[ROWS];
static uint16_t quantity[ROWS];
static uint64_t selected[WORDS];

static void load_columns(void) {
#pragma omp parallel for schedule(static)
    for (int word = 0; word < WORDS; word++) {
        for (int bit = 0; bit < 64; bit++) {
            uint32_t row = (uint32_t)word * 64 + bit;
            uint32_t mixed = (row ^ row >> 7) * 2654435761U;
            price[row] = mixed >> 16;
            quantity[row] = (mixed >> 5) % 100;
        }
    }
}

static void select_rows(uint32_t low, uint32_t high) {
#pragma omp parallel for schedule(static)
    for (int word = 0; word < WORDS; word++) {
        uint64_t bits = 0;
        for (int bit = 0; bit < 64; bit++) {
            uint32_t value = price[(size_t)word * 64 + bit];
            bits |= (uint64_t)(value >= low && value < high) << bit;
        }
        selected[word] = bits;
    }
}

static uint64_t sum_selected(void) {
    uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int word = 0; word < WORDS; word++) {
        for (uint64_t bits = selected[word]; bits; bits &= bits - 1) {
            sum += quantity[(size_t)word * 64 + __builtin_ctzll(bits)];
        }
    }
    return sum;
}

int main(void) {
    load_columns();
    uint64_t sum = 0;
    for (uint32_t query = 0; query < QUERIES; query++) {
        select_rows(query * 2000, query * 2000 + 32000);
        sum += sum_selected();
    }
    uint64_t check = 0;
    for (int row = 0; row < ROWS; row += ROWS / 1000) check += price[row] ^ quantity[row];
    printf("sum %llu check %llu\n", (unsigned long long)sum, (unsigned long long)check);
    return 0;
}
