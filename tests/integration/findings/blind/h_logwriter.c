// SPDX-License-Identifier: Apache-2.0
// label: slots = shared by groups
// Why: Each ring of 2 MB is written by one source and read by its one writer thread, over and over;
// both threads of the pair should be on one node.
// action: slots = local | none
// harm: slots = spread | copy
// Note: the author's words were "producer and consumer". docs/findings.md calls separate groups of
// threads, each with pages of its own, "shared by groups", also if they hand on data. Counted with
// his words, one finding is wrong, and one is missed.
// harm: rings = pad
/* Log service: request threads format records into a ring; every ring has a
 * writer thread that checksums and "writes" them to a file image.
 *   usage: logwriter [records per source] [pairs]                            */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECLEN 256
#define RINGRECS 8192 /* 2 MiB per ring */
#define BATCH 128
#define MAXPAIRS 4

struct record {
    uint32_t seq, len;
    char text[RECLEN - 8];
};

struct ring {
    pthread_mutex_t lock;
    pthread_cond_t nonempty, nonfull;
    unsigned head, tail; /* in batches */
    int closed;
    struct record* slots;
    int id;
    long records;
    uint32_t digest;
} __attribute__((aligned(4096)));

static struct ring rings[MAXPAIRS];
static const char* const level[] = {"DEBUG", "INFO", "WARN", "ERROR"};
#define NBATCH (RINGRECS / BATCH)

static void format(struct record* r, uint32_t seq, int id) {
    static const char hex[] = "0123456789abcdef";
    uint32_t h = (seq + 1) * 2654435761u ^ (uint32_t)id;
    r->seq = seq;
    char* p = r->text;
    const char* lv = level[h >> 30];
    while (*lv) *p++ = *lv++;
    *p++ = ' ';
    for (int k = 0; k < 24; k++) {
        for (int s = 28; s >= 0; s -= 4) *p++ = hex[(h >> s) & 15];
        h = h * 1664525u + 1013904223u;
        if (k % 6 == 5) *p++ = ' ';
    }
    *p++ = '\n';
    r->len = (uint32_t)(p - r->text);
}

static void* source(void* arg) {
    struct ring* g = arg;
    for (long seq = 0; seq < g->records;) {
        pthread_mutex_lock(&g->lock);
        while (g->head - g->tail == NBATCH) pthread_cond_wait(&g->nonfull, &g->lock);
        unsigned h = g->head;
        pthread_mutex_unlock(&g->lock);

        struct record* r = g->slots + (size_t)(h % NBATCH) * BATCH;
        for (int i = 0; i < BATCH; i++) format(&r[i], (uint32_t)seq++, g->id);

        pthread_mutex_lock(&g->lock);
        g->head = h + 1;
        pthread_cond_signal(&g->nonempty);
        pthread_mutex_unlock(&g->lock);
    }
    pthread_mutex_lock(&g->lock);
    g->closed = 1;
    pthread_cond_signal(&g->nonempty);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static void* writer(void* arg) {
    struct ring* g = arg;
    uint32_t a = 1, b = 0;
    for (;;) {
        pthread_mutex_lock(&g->lock);
        while (g->head == g->tail && !g->closed) pthread_cond_wait(&g->nonempty, &g->lock);
        int empty = g->head == g->tail;
        unsigned t = g->tail;
        pthread_mutex_unlock(&g->lock);
        if (empty) break;

        const struct record* r = g->slots + (size_t)(t % NBATCH) * BATCH;
        for (int i = 0; i < BATCH; i++) {
            for (uint32_t k = 0; k < r[i].len; k++) {
                a += (unsigned char)r[i].text[k];
                b += a;
            }
            a ^= r[i].seq;
        }

        pthread_mutex_lock(&g->lock);
        g->tail = t + 1;
        pthread_cond_signal(&g->nonfull);
        pthread_mutex_unlock(&g->lock);
    }
    g->digest = a ^ (b << 7);
    return NULL;
}

int main(int argc, char** argv) {
    long records = argc > 1 ? atol(argv[1]) : 163840;
    int pairs = argc > 2 ? atoi(argv[2]) : 3;
    if (pairs < 1 || pairs > MAXPAIRS) return 2;
    records = (records + BATCH - 1) / BATCH * BATCH;
    pthread_t src[MAXPAIRS], wr[MAXPAIRS];
    for (int i = 0; i < pairs; i++) {
        struct ring* g = &rings[i];
        pthread_mutex_init(&g->lock, NULL);
        pthread_cond_init(&g->nonempty, NULL);
        pthread_cond_init(&g->nonfull, NULL);
        g->id = i;
        g->records = records;
        g->slots = aligned_alloc(4096, RINGRECS * sizeof *g->slots);
        if (!g->slots) return 1;
        pthread_create(&src[i], NULL, source, g);
        pthread_create(&wr[i], NULL, writer, g);
    }
    uint32_t digest = 0;
    for (int i = 0; i < pairs; i++) {
        pthread_join(src[i], NULL);
        pthread_join(wr[i], NULL);
        digest = digest * 31 + rings[i].digest;
        free(rings[i].slots);
    }
    printf("pairs=%d records=%ld digest=%08x\n", pairs, records, digest);
    return 0;
}
