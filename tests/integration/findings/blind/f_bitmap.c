// SPDX-License-Identifier: Apache-2.0
// A bitmap index: queries combine three bitmaps word by word and count the rows that match.
// POSIX threads (main is thread 0); blocks of 64 words go to the threads in turn, in building too.
// label: bits = page-level false sharing
// Why: a page has eight blocks, and in turn they belong to all four threads, though no line is
// shared.
// action: bits = divide|pad
// label: matches = page-level false sharing
// Why: it has the same division, so all four threads write different lines of each page.
// action: matches = divide|pad
// harm: matches = copy
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ATTRIBUTES = 8, WORDS = 131072, BLOCK = 64, THREADS = 4, QUERIES = 56 };

static uint64_t* bits;     // the bitmaps of all attributes, one after the other
static uint64_t* matches;  // the result of the present query
static long found[THREADS][QUERIES];
static pthread_barrier_t barrier;

static uint64_t word_of(int attribute, size_t word) {
    uint64_t value =
        (word + 1) * 0x9e3779b97f4a7c15ULL + (uint64_t)attribute * 0xbf58476d1ce4e5b9ULL;
    value ^= value >> 30;
    value *= 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

static void build(int t) {
    for (int attribute = 0; attribute < ATTRIBUTES; attribute++) {
        uint64_t* bitmap = &bits[(size_t)attribute * WORDS];
        for (size_t block = (size_t)t; block < WORDS / BLOCK; block += THREADS) {
            for (size_t w = block * BLOCK; w < (block + 1) * BLOCK; w++) {
                bitmap[w] = word_of(attribute, w);
            }
        }
    }
}

// (first AND second) OR NOT third, as the planner made it.
static long scan(int t, int first, int second, int third) {
    const uint64_t* one = &bits[(size_t)first * WORDS];
    const uint64_t* two = &bits[(size_t)second * WORDS];
    const uint64_t* three = &bits[(size_t)third * WORDS];
    for (size_t block = (size_t)t; block < WORDS / BLOCK; block += THREADS) {
        for (size_t w = block * BLOCK; w < (block + 1) * BLOCK; w++) {
            matches[w] = (one[w] & two[w]) | ~three[w];
        }
    }
    long count = 0;
    for (size_t block = (size_t)t; block < WORDS / BLOCK; block += THREADS) {
        for (size_t w = block * BLOCK; w < (block + 1) * BLOCK; w++) {
            count += __builtin_popcountll(matches[w]);
        }
    }
    return count;
}

static void* worker(void* argument) {
    int t = (int)(size_t)argument;
    build(t);
    pthread_barrier_wait(&barrier);
    for (int query = 0; query < QUERIES; query++) {
        int first = query % ATTRIBUTES;
        int second = (query / 2 + 1) % ATTRIBUTES;
        int third = (query / 3 + 5) % ATTRIBUTES;
        found[t][query] = scan(t, first, second, third);
    }
    return NULL;
}

int main(void) {
    bits = aligned_alloc(4096, sizeof(uint64_t) * WORDS * ATTRIBUTES);
    matches = aligned_alloc(4096, sizeof(uint64_t) * WORDS);
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (size_t t = 1; t < THREADS; t++) {
        pthread_create(&threads[t], NULL, worker, (void*)t);
    }
    worker((void*)0);
    for (int t = 1; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
    }
    long total = 0;
    for (int query = 0; query < QUERIES; query++) {
        for (int t = 0; t < THREADS; t++) {
            total += found[t][query];
        }
    }
    // The last query again, from the words themselves.
    int q = QUERIES - 1;
    long wanted = 0, got = 0;
    for (size_t w = 0; w < WORDS; w += 997) {
        uint64_t one = word_of(q % ATTRIBUTES, w), two = word_of((q / 2 + 1) % ATTRIBUTES, w);
        wanted += __builtin_popcountll((one & two) | ~word_of((q / 3 + 5) % ATTRIBUTES, w));
        got += __builtin_popcountll(matches[w]);
    }
    double share = (double)total / ((double)QUERIES * WORDS * 64);
    printf("%ld rows, share %.4f\n", total, share);
    free(bits);
    free(matches);
    return !(wanted == got && share > 0.55 && share < 0.75);
}
