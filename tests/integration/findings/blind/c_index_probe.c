// SPDX-License-Identifier: Apache-2.0
// Answers point queries from an order table with a static two-level B-tree, as the lookup side of
// an index join. The main thread builds the tree, and reads the orders from a stream in which each
// key depends on the previous one. Four workers then scan contiguous parts of the orders, one
// tenant per round, and look up the keys of the tenant. Half of the comparisons are made in the
// root node, which is one page.
// label: orders = serial first touch
// action: orders = local | spread
// label: nodes = shared, read-mostly
// label: nodes = hot pages
// action: nodes = copy or spread
// harm: nodes = divide
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 4, FANOUT = 512, TENANTS = 4, ORDERS = 1 << 21 };

static uint64_t* nodes;  // node 0 is the root, nodes 1 to FANOUT are the leaves
static uint64_t* orders;

struct worker {
    pthread_t thread;
    size_t first, last;
    uint64_t hits, checksum;
};

static size_t lower_bound(const uint64_t* keys, uint64_t key) {
    size_t at = 0;
    for (size_t step = FANOUT / 2; step > 0; step /= 2) at += keys[at + step] <= key ? step : 0;
    return at;
}

static void build_tree(void) {
    uint64_t key = 0, state = 88172645463325252u;
    for (size_t leaf = 0; leaf < FANOUT; leaf++) {
        for (size_t i = 0; i < FANOUT; i++) {
            nodes[(leaf + 1) * FANOUT + i] = key;
            if (i == 0) nodes[leaf] = key;
            state = state * 6364136223846793005u + 1442695040888963407u;
            key += 1 + (state >> 62);
        }
    }
}

static void read_orders(void) {
    uint64_t state = 4101842887655102017u;
    uint64_t top = nodes[(size_t)FANOUT * FANOUT + FANOUT - 1];
    for (size_t i = 0; i < ORDERS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        orders[i] = (state >> 33) % top << 2 | ((state >> 20) & 3);
    }
}

static void* probe(void* argument) {
    struct worker* self = argument;
    uint64_t hits = 0, checksum = 0;
    for (uint64_t tenant = 0; tenant < TENANTS; tenant++) {
        for (size_t i = self->first; i < self->last; i++) {
            uint64_t order = orders[i];
            if ((order & 3) != tenant) continue;
            uint64_t key = order >> 2;
            size_t leaf = lower_bound(nodes, key) + 1;
            const uint64_t* keys = nodes + leaf * FANOUT;
            size_t slot = lower_bound(keys, key);
            hits += keys[slot] == key;
            checksum += leaf ^ slot;
        }
    }
    self->hits = hits;
    self->checksum = checksum;
    return NULL;
}

int main(void) {
    struct worker workers[WORKERS];
    uint64_t hits = 0, checksum = 0;
    nodes = aligned_alloc(4096, (size_t)(FANOUT + 1) * FANOUT * sizeof *nodes);
    orders = malloc(ORDERS * sizeof *orders);
    if (!nodes || !orders) return 1;
    build_tree();
    read_orders();
    for (size_t w = 0; w < WORKERS; w++) {
        workers[w].first = ORDERS / WORKERS * w;
        workers[w].last = ORDERS / WORKERS * (w + 1);
        if (pthread_create(&workers[w].thread, NULL, probe, &workers[w])) return 1;
    }
    for (size_t w = 0; w < WORKERS; w++) {
        pthread_join(workers[w].thread, NULL);
        hits += workers[w].hits;
        checksum += workers[w].checksum;
    }
    printf("hits %llu, checksum %llu\n", (unsigned long long)hits, (unsigned long long)checksum);
    free(nodes);
    free(orders);
    return 0;
}
