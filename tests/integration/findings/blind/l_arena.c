// SPDX-License-Identifier: Apache-2.0
// Threads of successive stages take blocks from a pool that hands out the block that came back
// last, so each block is used by another thread in the next stage.
// label: mem = pages change users
// action: mem = local | spread | divide
// harm: mem = copy
/* Two-stage analysis of recordings: a decode stage and a spectrum stage, each
 * with its own short-lived threads, scratch blocks taken from a block pool.
 * usage: l_arena [threads] [block size in MiB]                              */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_THREADS 64
#define ROUNDS 5
#define LAGS 12

struct block {
    struct block* next;
    float* mem;
};

struct pool {
    struct block* head;
    struct block store[MAX_THREADS];
    int made;
    size_t bytes;
};

struct task {
    int index;
    int round;
    size_t samples;
    struct block* scratch;
    double* summary;
};

static void pool_init(struct pool* p, size_t bytes) {
    memset(p, 0, sizeof *p);
    p->bytes = bytes;
}

static struct block* pool_get(struct pool* p) {
    if (p->head) {
        struct block* b = p->head;
        p->head = b->next;
        return b;
    }
    if (p->made == MAX_THREADS) return NULL;
    struct block* b = &p->store[p->made++];
    b->mem = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->mem == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return b;
}

static void pool_put(struct pool* p, struct block* b) {
    b->next = p->head;
    p->head = b;
}

static void* decode_stage(void* arg) {
    struct task* t = arg;
    float* s = t->scratch->mem;
    uint32_t state = (uint32_t)(t->index * 977 + t->round * 131071 + 7);
    for (size_t i = 0; i < t->samples; i++) {
        state = state * 1664525u + 1013904223u;
        s[i] = (float)(int32_t)state * (1.0f / 2147483648.0f);
    }
    for (int pass = 0; pass < 4; pass++) {
        float prev = 0.0f;
        for (size_t i = 0; i < t->samples; i++) {
            prev = 0.6f * prev + 0.4f * s[i];
            s[i] = prev;
        }
    }
    double e = 0.0;
    for (size_t i = 0; i < t->samples; i++) e += (double)s[i] * s[i];
    t->summary[0] = e / (double)t->samples;
    return NULL;
}

static void* spectrum_stage(void* arg) {
    struct task* t = arg;
    float* s = t->scratch->mem;
    float step = 0.002f * (float)(t->index + 1), phase = 0.0f;
    for (size_t i = 0; i < t->samples; i++) {
        phase += step;
        if (phase > 1.0f) phase -= 2.0f;
        s[i] = phase * (1.0f - fabsf(phase)) * (float)t->summary[0];
    }
    for (int lag = 0; lag < LAGS; lag += 4) {
        double c0 = 0.0, c1 = 0.0, c2 = 0.0, c3 = 0.0;
        for (size_t i = LAGS; i < t->samples; i++) {
            c0 += s[i] * s[i - (size_t)lag];
            c1 += s[i] * s[i - (size_t)lag - 1];
            c2 += s[i] * s[i - (size_t)lag - 2];
            c3 += s[i] * s[i - (size_t)lag - 3];
        }
        t->summary[1 + lag] = c0;
        t->summary[2 + lag] = c1;
        t->summary[3 + lag] = c2;
        t->summary[4 + lag] = c3;
    }
    return NULL;
}

static void run_stage(struct pool* pool, int threads, struct task* tasks, void* (*stage)(void*)) {
    pthread_t tid[MAX_THREADS];
    for (int i = 0; i < threads; i++) {
        tasks[i].scratch = pool_get(pool);
        if (!tasks[i].scratch || pthread_create(&tid[i], NULL, stage, &tasks[i]) != 0) {
            fprintf(stderr, "cannot start stage\n");
            exit(2);
        }
    }
    for (int i = 0; i < threads; i++) pthread_join(tid[i], NULL);
    for (int i = 0; i < threads; i++) {
        pool_put(pool, tasks[i].scratch);
        tasks[i].scratch = NULL;
    }
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    int mib = argc > 2 ? atoi(argv[2]) : 36;
    if (threads < 1 || threads > MAX_THREADS || mib < 1) {
        fprintf(stderr, "usage: %s [threads] [MiB]\n", argv[0]);
        return 1;
    }
    struct pool pool;
    struct task tasks[MAX_THREADS];
    double* summaries[MAX_THREADS];
    pool_init(&pool, (size_t)mib << 20);
    for (int i = 0; i < threads; i++) {
        summaries[i] = aligned_alloc(128, 128 * 2);
        memset(summaries[i], 0, 128 * 2);
    }
    double total = 0.0;
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < threads; i++)
            tasks[i] = (struct task){i, r, pool.bytes / sizeof(float), NULL, summaries[i]};
        run_stage(&pool, threads, tasks, decode_stage);
        run_stage(&pool, threads, tasks, spectrum_stage);
        for (int i = 0; i < threads; i++)
            for (int k = 0; k <= LAGS; k++) total += summaries[i][k] * (k + 1);
    }
    for (int i = 0; i < pool.made; i++) munmap(pool.store[i].mem, pool.bytes);
    for (int i = 0; i < threads; i++) free(summaries[i]);
    printf("blocks %d rounds %d checksum %.4f\n", pool.made, ROUNDS, total);
    return 0;
}
