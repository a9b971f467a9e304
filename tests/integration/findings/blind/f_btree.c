// SPDX-License-Identifier: Apache-2.0
// An in-memory B+ tree: built by main, then one writer inserts while three readers look keys up.
// POSIX threads (main is the writer) and one readers-writer lock, taken per batch.
// label: pool = shared, written
// Why: random keys lead every thread to all leaves, and the writer still changes them, so no part
// belongs to a thread.
// action: pool = spread
// harm: pool = copy
// label: run = one node serves all
// Why: main touched the whole tree first, so the node of main serves nearly every access of the
// three readers.
// action: run = spread
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FANOUT = 31,
    NODES = 32768,
    BUILT = 250000,
    INSERTED = 40000,
    LOOKUPS = 400000,
    BATCH = 100
};

typedef struct {
    int32_t count;
    int32_t leaf;
    uint32_t keys[FANOUT];
    uint32_t slots[FANOUT + 1];  // children, or values in a leaf
} Node;

static Node* pool;
static uint32_t used = 0;
static uint32_t root;
static pthread_rwlock_t tree_lock = PTHREAD_RWLOCK_INITIALIZER;

static uint32_t key_of(uint32_t i) {
    return i * 2654435761u;
}
static uint32_t value_of(uint32_t key) {
    return (key ^ 0x5bd1e995u) * 97u;
}

static uint32_t new_node(int leaf) {
    if (used == NODES) {
        abort();
    }
    Node* node = &pool[used];
    node->count = 0;
    node->leaf = leaf;
    return used++;
}

// The first position whose key is greater than `key`.
static int position(const Node* node, uint32_t key) {
    int low = 0, high = node->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (node->keys[middle] <= key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void split_child(Node* parent, int at) {
    Node* left = &pool[parent->slots[at]];
    uint32_t fresh = new_node(left->leaf);
    Node* right = &pool[fresh];
    int half = left->count / 2;
    uint32_t separator = left->keys[half];
    int from = left->leaf ? half : half + 1;
    right->count = left->count - from;
    for (int i = 0; i < right->count; i++) {
        right->keys[i] = left->keys[from + i];
        right->slots[i] = left->slots[from + i];
    }
    if (!left->leaf) {
        right->slots[right->count] = left->slots[left->count];
    }
    left->count = half;
    for (int i = parent->count; i > at; i--) {
        parent->keys[i] = parent->keys[i - 1];
        parent->slots[i + 1] = parent->slots[i];
    }
    parent->keys[at] = separator;
    parent->slots[at + 1] = fresh;
    parent->count++;
}

static void insert(uint32_t key, uint32_t value) {
    Node *nodes = pool, *node = &nodes[root];
    if (node->count == FANOUT) {
        uint32_t top = new_node(0);
        node = &nodes[top];
        node->slots[0] = root;
        split_child(node, 0);
        root = top;
    }
    while (!node->leaf) {
        int at = position(node, key);
        if (nodes[node->slots[at]].count == FANOUT) {
            split_child(node, at);
            at += key >= node->keys[at];
        }
        node = &nodes[node->slots[at]];
    }
    int at = position(node, key);
    for (int i = node->count; i > at; i--) {
        node->keys[i] = node->keys[i - 1];
        node->slots[i] = node->slots[i - 1];
    }
    node->keys[at] = key;
    node->slots[at] = value;
    node->count++;
}

static int lookup(const Node* nodes, uint32_t top, uint32_t key, uint32_t* value) {
    const Node* node = &nodes[top];
    while (!node->leaf) {
        node = &nodes[node->slots[position(node, key)]];
    }
    int at = position(node, key) - 1;
    if (at < 0 || node->keys[at] != key) {
        return 0;
    }
    *value = node->slots[at];
    return 1;
}

static void* reader(void* argument) {
    uint32_t random = 77u + (uint32_t)(uintptr_t)argument;
    uintptr_t wrong = 0;
    for (int i = 0; i < LOOKUPS; i += BATCH) {
        pthread_rwlock_rdlock(&tree_lock);
        const Node* nodes = pool;
        uint32_t top = root;
        for (int j = 0; j < BATCH; j++) {
            random = random * 1664525u + 1013904223u;
            uint32_t key = key_of((random >> 8) % BUILT), value = 0;
            wrong += !lookup(nodes, top, key, &value) || value != value_of(key);
        }
        pthread_rwlock_unlock(&tree_lock);
    }
    return (void*)wrong;
}

int main(void) {
    pool = malloc(sizeof(Node) * NODES);
    root = new_node(1);
    for (uint32_t i = 0; i < BUILT; i++) {
        insert(key_of(i), value_of(key_of(i)));
    }
    pthread_t readers[3];
    for (uintptr_t t = 0; t < 3; t++) {
        pthread_create(&readers[t], NULL, reader, (void*)t);
    }
    for (uint32_t i = 0; i < INSERTED; i += 50) {
        pthread_rwlock_wrlock(&tree_lock);
        for (uint32_t j = BUILT + i; j < BUILT + i + 50; j++) {
            insert(key_of(j), value_of(key_of(j)));
        }
        pthread_rwlock_unlock(&tree_lock);
    }
    uintptr_t wrong = 0;
    for (int t = 0; t < 3; t++) {
        void* result;
        pthread_join(readers[t], &result);
        wrong += (uintptr_t)result;
    }
    for (uint32_t i = BUILT; i < BUILT + INSERTED; i += 1000) {
        uint32_t value;
        wrong += !lookup(pool, root, key_of(i), &value);
    }
    printf("%u nodes, %lu wrong\n", used, (unsigned long)wrong);
    free(pool);
    return wrong != 0;
}
