// SPDX-License-Identifier: Apache-2.0
// Counts sessions, users and items in an access log. The main thread receives the log into one
// buffer, and puts it into a queue in pieces of 64 KiB. Four workers of a pool take pieces as they
// become free, parse them byte by byte, and count in a common table. A piece belongs to whichever
// worker takes it, and neighbouring pieces belong to different workers.
// label: log_buffer = serial first touch
// label: log_buffer = false sharing of 2 MiB pages
// action: log_buffer = spread
// harm: log_buffer = divide
// label: counters = shared, written
// action: counters = spread
// harm: counters = divide
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 4, LINE = 64, PIECE = 64 << 10, LOG_BYTES = 16 << 20, SLOTS = 1 << 17 };

static struct {
    pthread_mutex_t lock;
    size_t next, end;
} queue = {PTHREAD_MUTEX_INITIALIZER, 0, LOG_BYTES / PIECE};

static char* log_buffer;
static uint64_t* counters;

// Writes eight hexadecimal digits, all at once.
static void put_hex(char* at, uint32_t value) {
    uint64_t x = value;
    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
    uint64_t letters = (x + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
    x += 0x3030303030303030u + letters * 39;
    memcpy(at, &x, sizeof x);
}

static void receive_log(void) {
    uint32_t state = 2463534242u;
    char line[LINE + 1] = "s=00000000 u=00000000 i=00000000 GET /catalogue/view 200 00017 \n";
    for (size_t at = 0; at < LOG_BYTES; at += LINE) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        put_hex(line + 2, state);
        put_hex(line + 13, state * 2654435761u);
        put_hex(line + 24, state * 40503u + 977u);
        memcpy(log_buffer + at, line, LINE);
    }
}

static uint64_t parse(const char* text, size_t bytes) {
    uint64_t lines = 0;
    uint32_t hash = 0;
    int in_id = 0;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '=') {
            hash = 2166136261u;
            in_id = 1;
        } else if (c == ' ') {
            if (in_id)
                __atomic_fetch_add(&counters[(hash ^ hash >> 15) & (SLOTS - 1)], 1,
                                   __ATOMIC_RELAXED);
            in_id = 0;
        } else {
            hash = (hash ^ c) * 16777619u;
            lines += c == '\n';
        }
    }
    return lines;
}

static void* work(void* argument) {
    uint64_t* lines = argument;
    uint64_t total = 0;
    for (;;) {
        pthread_mutex_lock(&queue.lock);
        size_t piece = queue.next < queue.end ? queue.next++ : SIZE_MAX;
        pthread_mutex_unlock(&queue.lock);
        if (piece == SIZE_MAX) break;
        total += parse(log_buffer + piece * PIECE, PIECE);
    }
    *lines = total;
    return NULL;
}

int main(void) {
    pthread_t threads[WORKERS];
    uint64_t lines[WORKERS], total = 0;
    log_buffer = aligned_alloc(4096, LOG_BYTES);
    counters = calloc(SLOTS, sizeof *counters);
    if (!log_buffer || !counters) return 1;
    receive_log();
    for (int w = 0; w < WORKERS; w++)
        if (pthread_create(&threads[w], NULL, work, &lines[w])) return 1;
    for (int w = 0; w < WORKERS; w++) {
        pthread_join(threads[w], NULL);
        total += lines[w];
    }
    printf("lines %llu, first counter %llu\n", (unsigned long long)total,
           (unsigned long long)counters[0]);
    free(log_buffer);
    free(counters);
    return 0;
}
