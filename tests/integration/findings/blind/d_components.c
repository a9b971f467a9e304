// SPDX-License-Identifier: Apache-2.0
// Which accounts belong together: connected components by union and find, over random pairs. Main
// reads all pairs in; then the pairs are divided statically, the same way in all passes. The forest
// is set in parallel, but the pairs lead to any place in it: all threads read all pages, and path
// halving and unions write them. There are fewer pairs than half the accounts, so the trees stay
// small and no account is popular. Each union counts in one atomic counter of all threads.
// label: pairs = serial first touch
// action: pairs = local
// label: parent = shared, written
// action: parent = spread
// harm: parent = local
// label: merges = true sharing of cache lines
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 1 << 20, PAIRS = 460000, CHECKS = 6 };

struct pair {
    uint32_t a;
    uint32_t b;
};

static long merges;

static uint32_t find(uint32_t* parent, uint32_t account) {
    for (;;) {
        uint32_t up = __atomic_load_n(&parent[account], __ATOMIC_RELAXED);
        if (up == account) return account;
        uint32_t above = __atomic_load_n(&parent[up], __ATOMIC_RELAXED);
        if (above == up) return up;
        __atomic_compare_exchange_n(&parent[account], &up, above, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
        account = above;
    }
}

static void unite(uint32_t* parent, uint32_t a, uint32_t b) {
    for (;;) {
        a = find(parent, a);
        b = find(parent, b);
        if (a == b) return;
        if (a < b) {
            uint32_t other = a;
            a = b;
            b = other;
        }
        uint32_t expected = a;
        if (__atomic_compare_exchange_n(&parent[a], &expected, b, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&merges, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

static void read_pairs(struct pair* pairs) {
    uint64_t state = 88172645463325252u;
    for (int p = 0; p < PAIRS; p++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pairs[p].a = (uint32_t)(state >> 8) % ACCOUNTS;
        pairs[p].b = (uint32_t)(state >> 40) % ACCOUNTS;
    }
}

int main(void) {
    struct pair* pairs = malloc(sizeof *pairs * PAIRS);
    uint32_t* parent = malloc(sizeof *parent * ACCOUNTS);
    if (!pairs || !parent) return 1;
    read_pairs(pairs);
#pragma omp parallel for schedule(static)
    for (uint32_t a = 0; a < ACCOUNTS; a++) parent[a] = a;
#pragma omp parallel for schedule(static)
    for (int p = 0; p < PAIRS; p++) unite(parent, pairs[p].a, pairs[p].b);

    // How many pairs of an account and the next pair's account are in one component?
    long together = 0;
    for (int check = 0; check < CHECKS; check++) {
#pragma omp parallel for schedule(static) reduction(+ : together)
        for (int p = 0; p < PAIRS; p++) {
            uint32_t other = (pairs[p].b + 7919u * (uint32_t)check) % ACCOUNTS;
            together += find(parent, pairs[p].a) == find(parent, other);
        }
    }
    printf("components %ld, together %ld\n", ACCOUNTS - merges, together);
    free(parent);
    free(pairs);
    return 0;
}
