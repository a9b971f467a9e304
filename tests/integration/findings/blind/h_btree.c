// SPDX-License-Identifier: Apache-2.0
// label: nodes = shared, read-mostly
// Why: 10 MB tree, bulk-loaded by main, afterwards only read, at random, by all 8 threads.
// action: nodes = copy | spread
// harm: nodes = local | divide
// label: w = false sharing of cache lines
// Why: worker_t has 80 bytes, so the counters (visits, compares, hits, misses) of one worker share
// a line with the fields of the next, and they are updated at each node visited.
// action: w = pad
// Labels of what needs no action, added after the first look:
// label: results = partitioned
// Why: Each worker writes its own part first, and only there.
// action: results = none
// harm: results = copy
// harm: queries = copy
/* Static B+-tree over 64-bit keys with concurrent point lookups.
 *   usage: btree [keys] [lookups] [threads]                                  */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FANOUT 31

typedef struct node {
    uint32_t count, leaf;
    uint64_t key[FANOUT];
    union {
        uint64_t value[FANOUT];
        uint32_t child[FANOUT];
    } u;
} node_t;

typedef struct {
    node_t* nodes;
    uint32_t used, cap, root, height;
} btree_t;

typedef struct {
    pthread_t tid;
    const btree_t* tree;
    const uint64_t* queries;
    uint64_t* results;
    size_t first, last;
    long hits, misses, visits, compares;
} worker_t;

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdull;
    z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return z ^ (z >> 33);
}

static uint32_t new_node(btree_t* t, int leaf) {
    if (t->used == t->cap) {
        fprintf(stderr, "tree full\n");
        exit(1);
    }
    node_t* n = &t->nodes[t->used];
    n->count = 0;
    n->leaf = (uint32_t)leaf;
    return t->used++;
}

/* sorted input, nodes are filled from left to right, level by level */
static btree_t bulk_load(size_t nkeys) {
    btree_t t = {0};
    t.cap = (uint32_t)(nkeys / FANOUT * 1.05) + 64;
    t.nodes = aligned_alloc(64, ((size_t)t.cap * sizeof(node_t) + 63) / 64 * 64);
    if (!t.nodes) {
        perror("nodes");
        exit(1);
    }
    uint32_t level = 0, n = 0;
    for (size_t i = 0; i < nkeys; i++) {
        if (i % FANOUT == 0) n = new_node(&t, 1);
        node_t* p = &t.nodes[n];
        p->key[p->count] = 2 * i;
        p->u.value[p->count] = mix(i);
        p->count++;
    }
    uint32_t end = t.used;
    t.height = 1;
    while (end - level > 1) {
        for (uint32_t c = level; c < end; c++) {
            if ((c - level) % FANOUT == 0) n = new_node(&t, 0);
            node_t* p = &t.nodes[n];
            p->key[p->count] = t.nodes[c].key[0];
            p->u.child[p->count] = c;
            p->count++;
        }
        level = end;
        end = t.used;
        t.height++;
    }
    t.root = level;
    return t;
}

static int __attribute__((noinline)) btree_get(const btree_t* t, uint64_t key, uint64_t* value,
                                               worker_t* stat) {
    uint32_t n = t->root;
    for (;;) {
        const node_t* p = &t->nodes[n];
        uint32_t lo = 0, hi = p->count; /* last key <= key */
        stat->visits++;
        while (hi - lo > 1) {
            uint32_t mid = (lo + hi) / 2;
            stat->compares++;
            if (p->key[mid] <= key)
                lo = mid;
            else
                hi = mid;
        }
        if (p->leaf) {
            if (p->key[lo] != key) {
                stat->misses++;
                return 0;
            }
            *value = p->u.value[lo];
            stat->hits++;
            return 1;
        }
        n = p->u.child[lo];
    }
}

static void* lookup_thread(void* arg) {
    worker_t* w = arg;
    for (size_t q = w->first; q < w->last; q++) {
        uint64_t v = 0;
        btree_get(w->tree, w->queries[q], &v, w);
        w->results[q] = v;
    }
    return NULL;
}

int main(int argc, char** argv) {
    size_t nkeys = argc > 1 ? strtoull(argv[1], 0, 10) : 600000;
    size_t nlookups = argc > 2 ? strtoull(argv[2], 0, 10) : 700000;
    int nt = argc > 3 ? atoi(argv[3]) : 8;

    btree_t tree = bulk_load(nkeys);
    uint64_t* queries = malloc(nlookups * sizeof *queries);
    uint64_t* results = malloc(nlookups * sizeof *results);
    worker_t* w = calloc((size_t)nt, sizeof *w);
    if (!queries || !results || !w) return 1;
    for (size_t q = 0; q < nlookups; q++) queries[q] = mix(q + 12345) % (2 * nkeys + 100);

    for (int t = 0; t < nt; t++) {
        w[t].tree = &tree;
        w[t].queries = queries;
        w[t].results = results;
        w[t].first = nlookups * (size_t)t / (size_t)nt;
        w[t].last = nlookups * (size_t)(t + 1) / (size_t)nt;
        if (pthread_create(&w[t].tid, NULL, lookup_thread, &w[t])) return 1;
    }
    long hits = 0, misses = 0, visits = 0, compares = 0;
    for (int t = 0; t < nt; t++) {
        pthread_join(w[t].tid, NULL);
        hits += w[t].hits;
        misses += w[t].misses;
        visits += w[t].visits;
        compares += w[t].compares;
    }
    uint64_t check = 0;
    for (size_t q = 0; q < nlookups; q += 3) check ^= results[q] + q;
    printf("nodes %u height %u hits %ld misses %ld visits %ld compares %ld checksum %016llx\n",
           tree.used, tree.height, hits, misses, visits, compares, (unsigned long long)check);
    free(w);
    free(results);
    free(queries);
    free(tree.nodes);
    return 0;
}
