// SPDX-License-Identifier: Apache-2.0
// Main fills all arrays. Threads look up the rows of their parts in a hash table.
// label: orders = shared, read-mostly | serial first touch
// called: orders = ht.rows
// action: orders = spread | copy | divide
// label: ht.head = shared, read-mostly | serial first touch
// action: ht.head = spread | copy | divide
// minor: ht.next = shared, read-mostly | serial first touch
// action: ht.next = spread | copy | divide
// label: items = serial first touch
// action: items = local | spread
// harm: items = copy
// label: res = false sharing of cache lines
// called: res = mine | res.n | res.revenue
// action: res = pad | divide
// harm: res = spread | local
// minor: rowid = partitioned
// action: rowid = none
// harm: rowid = spread
/* Hash join of an order table against a line-item table, followed by a
 * selection on the joined rows.  Several queries with different filters
 * are run over the same build side.                                      */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_ORDERS 400000u
#define N_ITEMS 2600000u
#define BUCKET_BITS 19
#define N_QUERIES 10

struct order {
    uint32_t key;
    uint32_t priority;
};

struct item {
    uint32_t order_key;
    uint32_t price;
};

struct hashtable {
    uint32_t* head; /* bucket -> first row + 1 */
    uint32_t* next; /* row -> next row + 1 */
    const struct order* rows;
};

struct result {
    uint32_t* rowid;
    size_t n, cap;
    uint64_t revenue;
};

static uint64_t rng = 88172645463325252ull;

static uint32_t rnd(void) {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)(rng >> 24);
}

static inline uint32_t bucket_of(uint32_t key) {
    return (key * 2654435769u) >> (32 - BUCKET_BITS);
}

static void* xmalloc(size_t n) {
    void* p = malloc(n);
    if (!p) {
        perror("malloc");
        exit(1);
    }
    return p;
}

static void build(struct hashtable* ht, const struct order* o, uint32_t n) {
    ht->head = calloc((size_t)1 << BUCKET_BITS, sizeof(uint32_t));
    ht->next = xmalloc(n * sizeof(uint32_t));
    ht->rows = o;
    if (!ht->head) exit(1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t b = bucket_of(o[i].key);
        ht->next[i] = ht->head[b];
        ht->head[b] = i + 1;
    }
}

static void emit(struct result* r, uint32_t row, uint32_t price) {
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 4096;
        r->rowid = realloc(r->rowid, r->cap * sizeof(uint32_t));
        if (!r->rowid) abort();
    }
    r->rowid[r->n++] = row;
    r->revenue += price;
}

static void probe(const struct hashtable* ht, const struct item* items, uint32_t n,
                  uint32_t max_priority, struct result* res) {
#pragma omp parallel
    {
        struct result* mine = &res[omp_get_thread_num()];
        mine->n = 0;
#pragma omp for schedule(static)
        for (uint32_t i = 0; i < n; i++) {
            uint32_t k = items[i].order_key;
            for (uint32_t r = ht->head[bucket_of(k)]; r; r = ht->next[r - 1]) {
                const struct order* o = &ht->rows[r - 1];
                if (o->key == k) {
                    if (o->priority <= max_priority) emit(mine, i, items[i].price);
                    break;
                }
            }
        }
    }
}

int main(int argc, char** argv) {
    int nt = argc > 1 ? atoi(argv[1]) : 4;
    omp_set_num_threads(nt);

    struct order* orders = xmalloc(N_ORDERS * sizeof *orders);
    struct item* items = xmalloc(N_ITEMS * sizeof *items);
    struct result* res = calloc(nt, sizeof *res);
    struct hashtable ht;

    if (!res) return 1;
    for (uint32_t i = 0; i < N_ORDERS; i++) {
        orders[i].key = i * 7u + 3u;
        orders[i].priority = rnd() % 10;
    }
    for (uint32_t i = 0; i < N_ITEMS; i++) {
        items[i].order_key = (rnd() % (N_ORDERS + N_ORDERS / 4)) * 7u + 3u;
        items[i].price = rnd() % 1000;
    }

    double t0 = omp_get_wtime();
    build(&ht, orders, N_ORDERS);
    double t1 = omp_get_wtime();
    uint64_t rows = 0, revenue = 0;
    for (uint32_t q = 0; q < N_QUERIES; q++) {
        probe(&ht, items, N_ITEMS, q, res);
        for (int t = 0; t < nt; t++) rows += res[t].n;
    }
    double t2 = omp_get_wtime();
    for (int t = 0; t < nt; t++) {
        revenue += res[t].revenue;
        free(res[t].rowid);
    }
    printf("join: build %.3f s, probe %.3f s, rows %llu checksum %llu\n", t1 - t0, t2 - t1,
           (unsigned long long)rows, (unsigned long long)revenue);
    free(ht.head);
    free(ht.next);
    free(orders);
    free(items);
    free(res);
    return 0;
}
