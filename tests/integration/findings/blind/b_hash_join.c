// SPDX-License-Identifier: Apache-2.0
// Joins orders with customers, as a database does: the main thread reads the orders and builds the
// hash table of customers; then four threads answer several queries. Each thread scans its own
// contiguous part of the orders, and probes the whole table at random places. Nobody writes to
// either during the queries.
// label: join.orders = serial first touch
// action: join.orders = local
// harm: join.orders = parallelise the existing loop
// label: join.table = shared, read-mostly
// action: join.table = copy or spread
// harm: join.table = parallelise the existing loop
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ORDERS = 1 << 19, CUSTOMERS = 1 << 17, SLOTS = 1 << 18, QUERIES = 6, MAX_THREADS = 64 };

struct order {
    uint32_t customer;
    uint32_t quantity;
    uint64_t price;
};

struct slot {
    uint32_t customer;  // 0: empty
    uint32_t region;
    uint64_t discount;
};

struct join {
    struct order* orders;
    struct slot* table;
};

struct worker {
    const struct join* join;
    size_t begin, end;
    uint64_t revenue;
};

static uint32_t slot_of(uint32_t customer) {
    return (customer * 2654435761U) >> 14;
}

static void read_orders(struct join* join) {
    uint32_t state = 1;
    for (size_t i = 0; i < ORDERS; i++) {
        state = state * 1664525U + 1013904223U;
        join->orders[i].customer = 1 + (state >> 8) % CUSTOMERS;
        join->orders[i].quantity = 1 + (state >> 27);
        join->orders[i].price = 100 + (state >> 12) % 900;
    }
}

static void build_table(struct join* join) {
    for (uint32_t customer = 1; customer <= CUSTOMERS; customer++) {
        uint32_t at = slot_of(customer);
        while (join->table[at].customer) at = (at + 1) % SLOTS;
        join->table[at].customer = customer;
        join->table[at].region = customer % 7;
        join->table[at].discount = customer % 10;
    }
}

static void* query(void* argument) {
    struct worker* worker = argument;
    const struct order* orders = worker->join->orders;
    const struct slot* table = worker->join->table;
    uint64_t revenue = 0;
    for (uint32_t region = 0; region < QUERIES; region++) {
        for (size_t i = worker->begin; i < worker->end; i++) {
            uint32_t at = slot_of(orders[i].customer);
            while (table[at].customer != orders[i].customer) at = (at + 1) % SLOTS;
            if (table[at].region != region) continue;
            revenue += orders[i].quantity * (orders[i].price - table[at].discount);
        }
    }
    worker->revenue = revenue;
    return NULL;
}

int main(void) {
    const char* wanted = getenv("THREADS");
    int threads = wanted ? atoi(wanted) : 4;
    if (threads < 1 || threads > MAX_THREADS) return 2;
    struct join join = {malloc(ORDERS * sizeof(struct order)), calloc(SLOTS, sizeof(struct slot))};
    if (!join.orders || !join.table) return 1;
    read_orders(&join);
    build_table(&join);

    pthread_t started[MAX_THREADS];
    struct worker workers[MAX_THREADS];
    for (int t = 0; t < threads; t++) {
        workers[t].join = &join;
        workers[t].begin = (size_t)ORDERS * t / threads;
        workers[t].end = (size_t)ORDERS * (t + 1) / threads;
        pthread_create(&started[t], NULL, query, &workers[t]);
    }
    uint64_t revenue = 0;
    for (int t = 0; t < threads; t++) {
        pthread_join(started[t], NULL);
        revenue += workers[t].revenue;
    }
    printf("revenue %llu\n", (unsigned long long)revenue);
    free(join.orders);
    free(join.table);
    return 0;
}
