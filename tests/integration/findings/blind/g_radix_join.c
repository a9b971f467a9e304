// SPDX-License-Identifier: Apache-2.0
// A radix hash join: both relations are partitioned into 32 parts, then each part is joined with a
// small hash table. OpenMP; parts are joined in fixed contiguous ranges.
// label: orders = serial first touch
// Why: main generates it alone, and each thread histograms and scatters its own quarter.
// action: orders = local
// harm: orders = copy
// label: items = serial first touch
// Why: as `orders`.
// action: items = local
// harm: items = copy
// label: orders_parts = pages change users
// Why: in the scatter a page of a part belongs to the thread whose slice lies there, and then the
// whole part is read by the thread that joins it.
// action: orders_parts = divide|spread
// harm: orders_parts = copy
// label: items_parts = pages change users
// Why: as `orders_parts`.
// action: items_parts = divide|spread
// harm: items_parts = copy
// label: table = cache-resident
// Why: each thread has a table of 64 KiB, cleared and filled for each part.
// action: table = none
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 1 << 18, ITEMS = 1 << 20, PARTS = 32, MOST = 16, SLOTS = 1 << 14 };

typedef struct {
    uint64_t key;
    uint64_t payload;
} tuple;

static uint64_t mixed(uint64_t x) {
    x ^= x >> 31;
    x *= 0x7fb5d329728ea185ull;
    x ^= x >> 27;
    return x;
}

static int part_of(uint64_t key) {
    return (int)(mixed(key) % PARTS);
}

static void partition(const tuple* from, tuple* to, size_t n, size_t begin_of[PARTS + 1]) {
    static size_t count[MOST][PARTS];
    static size_t place[MOST][PARTS];
    memset(count, 0, sizeof count);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        size_t low = n * (size_t)me / (size_t)team, high = n * (size_t)(me + 1) / (size_t)team;
        size_t mine[PARTS] = {0};
        for (size_t i = low; i < high; i++) mine[part_of(from[i].key)]++;
        memcpy(count[me], mine, sizeof mine);
#pragma omp barrier
#pragma omp single
        {
            size_t sum = 0;
            for (int p = 0; p < PARTS; p++) {
                begin_of[p] = sum;
                for (int t = 0; t < team; t++) {
                    place[t][p] = sum;
                    sum += count[t][p];
                }
            }
            begin_of[PARTS] = sum;
        }
        memcpy(mine, place[me], sizeof mine);
        for (size_t i = low; i < high; i++) to[mine[part_of(from[i].key)]++] = from[i];
    }
}

static uint64_t join_part(const tuple* build, size_t builds, const tuple* probe, size_t probes,
                          uint32_t* table) {
    uint64_t sum = 0;
    memset(table, 0, sizeof *table * SLOTS);
    for (size_t i = 0; i < builds; i++) {
        size_t slot = mixed(build[i].key * 3) % SLOTS;
        while (table[slot]) slot = (slot + 1) % SLOTS;
        table[slot] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < probes; i++) {
        size_t slot = mixed(probe[i].key * 3) % SLOTS;
        while (table[slot] && build[table[slot] - 1].key != probe[i].key) slot = (slot + 1) % SLOTS;
        if (table[slot]) sum += build[table[slot] - 1].payload ^ probe[i].payload;
    }
    return sum;
}

int main(void) {
    tuple* orders = malloc(sizeof *orders * ORDERS);
    tuple* items = malloc(sizeof *items * ITEMS);
    tuple* orders_parts = malloc(sizeof *orders_parts * ORDERS);
    tuple* items_parts = malloc(sizeof *items_parts * ITEMS);
    if (!orders || !items || !orders_parts || !items_parts) return 1;
    for (size_t i = 0; i < ORDERS; i++) orders[i] = (tuple){i, i * 7};
    for (size_t i = 0; i < ITEMS; i++) items[i] = (tuple){mixed(i + 99) % ORDERS, i};
    size_t orders_begin[PARTS + 1], items_begin[PARTS + 1];
    partition(orders, orders_parts, ORDERS, orders_begin);
    partition(items, items_parts, ITEMS, items_begin);
    uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        uint32_t* table = malloc(sizeof *table * SLOTS);
        if (!table) exit(1);
#pragma omp for schedule(static)
        for (int p = 0; p < PARTS; p++) {
            sum +=
                join_part(orders_parts + orders_begin[p], orders_begin[p + 1] - orders_begin[p],
                          items_parts + items_begin[p], items_begin[p + 1] - items_begin[p], table);
        }
        free(table);
    }
    printf("joined %d items: %llu\n", ITEMS, (unsigned long long)sum);
    free(orders);
    free(items);
    free(orders_parts);
    free(items_parts);
    return 0;
}
