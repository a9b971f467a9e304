// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: Each worker allocates its own arena, touches it first, and uses it again for each request.
// What is shared, a queue of small numbers and a table of 16 KB, is small, and used little for each
// request.
// action: run = none
// harm: block = spread | copy | divide
// harm: rates = spread | copy | local | divide
// harm: run = balance
// label: block = partitioned
// A service that computes quotes: requests from a queue, a tree of items in an arena for each, and
// a total.
//   usage: arena_service [threads] [requests]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { queue_size = 64, rate_count = 2048, arena_size = 6 << 20 };

struct arena {
    char* block;
    size_t used;
};

struct item {
    struct item *left, *right;
    uint64_t key;
    double quantity, price;
    char name[24];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    uint32_t requests[queue_size];
    int head, count, closed;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .not_empty = PTHREAD_COND_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER};

static double rates[rate_count];

static void put(uint32_t request) {
    pthread_mutex_lock(&queue.lock);
    while (queue.count == queue_size) pthread_cond_wait(&queue.not_full, &queue.lock);
    queue.requests[(queue.head + queue.count++) % queue_size] = request;
    pthread_cond_signal(&queue.not_empty);
    pthread_mutex_unlock(&queue.lock);
}

static int take(uint32_t* request) {
    pthread_mutex_lock(&queue.lock);
    while (!queue.count && !queue.closed) pthread_cond_wait(&queue.not_empty, &queue.lock);
    int got = queue.count > 0;
    if (got) {
        *request = queue.requests[queue.head];
        queue.head = (queue.head + 1) % queue_size;
        queue.count--;
        pthread_cond_signal(&queue.not_full);
    }
    pthread_mutex_unlock(&queue.lock);
    return got;
}

static void close_queue(void) {
    pthread_mutex_lock(&queue.lock);
    queue.closed = 1;
    pthread_cond_broadcast(&queue.not_empty);
    pthread_mutex_unlock(&queue.lock);
}

static void* from_arena(struct arena* a, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (a->used + bytes > arena_size) return NULL;
    void* p = a->block + a->used;
    a->used += bytes;
    return p;
}

static struct item* find_or_add(struct arena* a, struct item** root, uint64_t key) {
    while (*root) {
        if ((*root)->key == key) return *root;
        root = key < (*root)->key ? &(*root)->left : &(*root)->right;
    }
    struct item* item = from_arena(a, sizeof *item);
    if (!item) return NULL;
    memset(item, 0, sizeof *item);
    item->key = key;
    snprintf(item->name, sizeof item->name, "item-%08x", (unsigned)(key & 0xFFFFFFFF));
    return *root = item;
}

static double total(const struct item* item) {
    if (!item) return 0;
    return total(item->left) + item->quantity * item->price + total(item->right);
}

/// Quotes have between 500 and 50000 lines; most are small.
static uint64_t quote(struct arena* a, uint32_t request) {
    uint64_t state = request * 0x9E3779B97F4A7C15ull + 1;
    int lines = request % 16 == 0 ? 50000 : 500 + (int)(request % 1000);
    struct item* root = NULL;
    a->used = 0;
    for (int l = 0; l < lines; l++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        struct item* item = find_or_add(a, &root, (state >> 20) % (uint64_t)(lines * 8));
        if (!item) break;
        item->quantity += 1 + (double)(state >> 60);
        item->price = rates[(state >> 33) % rate_count];
    }
    return (uint64_t)(total(root) * 100);
}

static void* work(void* result) {
    struct arena a = {malloc(arena_size), 0};
    uint64_t sum = 0;
    uint32_t request;
    if (!a.block) exit(1);
    while (take(&request)) sum += quote(&a, request);
    free(a.block);
    *(uint64_t*)result = sum;
    return NULL;
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4, requests = argc > 2 ? atoi(argv[2]) : 500;
    pthread_t* workers = calloc(threads, sizeof *workers);
    uint64_t *sums = calloc(threads, sizeof *sums), sum = 0;
    if (!workers || !sums) return 1;
    for (int r = 0; r < rate_count; r++) rates[r] = 1.0 + r * 0.25;
    for (int t = 0; t < threads; t++)
        if (pthread_create(&workers[t], NULL, work, &sums[t])) return 1;
    for (int r = 0; r < requests; r++) put((uint32_t)r);
    close_queue();
    for (int t = 0; t < threads; t++) {
        pthread_join(workers[t], NULL);
        sum += sums[t];
    }
    printf("quotes %d total %llu\n", requests, (unsigned long long)sum);
    free(workers);
    free(sums);
    return 0;
}
