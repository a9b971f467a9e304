// SPDX-License-Identifier: Apache-2.0
// Two threads take turns, so the number of cache lines that travel between them is known. Every
// array is used for one purpose only, and begins on a page. Lines have 64 bytes.
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE = 8, PAGE = 512, ROUNDS = 100, LINES = 64 };  // in words

typedef volatile uint64_t Word;
#define ARRAY(name, words) static Word name[words] __attribute__((aligned(4096)))

ARRAY(same_word, PAGE);
ARRAY(two_words, PAGE);
ARRAY(padded, PAGE);
ARRAY(read_only, LINES* LINE);
ARRAY(queue, PAGE);
ARRAY(read_beside, PAGE);
ARRAY(late_word, PAGE);
ARRAY(bands, PAGE);
ARRAY(spun, PAGE);
ARRAY(lock_word, PAGE);
static Word* heap;  // of counters on one line

static sem_t turns[2];

static void first_turn(int round, int me) {
    same_word[0] += 1;
    two_words[0] += 1;
    padded[0] += 1;
    queue[0] = (uint64_t)round;  // both words of an item
    queue[1] = queue[0] + 1;
    read_beside[0] = (uint64_t)round;
    late_word[0] += 1;
    late_word[3] = (uint64_t)round;
    for (int i = 0; i < PAGE / 2; ++i) bands[i] += bands[PAGE / 2];  // the other's first line
    for (int i = 0; i < 1000; ++i) spun[0] += 1;
    (void)__sync_lock_test_and_set(&lock_word[0], (uint64_t)me + 1);
    heap[me] += 1;
}

static void second_turn(int round, int me) {
    (void)round;
    same_word[0] += 1;
    two_words[1] += 1;
    padded[LINE] += 1;
    (void)queue[0];
    (void)queue[1];
    (void)read_beside[1];
    late_word[1] += 1;
    if (round % 2 == 0) (void)late_word[3];  // a word of the other, but not at first
    for (int i = PAGE / 2; i < PAGE; ++i) bands[i] += 1;
    for (int i = 0; i < 1000; ++i) spun[1] += 1;
    (void)__sync_lock_test_and_set(&lock_word[0], (uint64_t)me + 1);
    heap[me] += 1;
}

static void* take_turns(void* argument) {
    const int me = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; ++round) {
        sem_wait(&turns[me]);
        if (me == 0) {
            first_turn(round, me);
        } else {
            second_turn(round, me);
        }
        for (int i = 0; i < LINES; ++i) (void)read_only[i * LINE];
        sem_post(&turns[1 - me]);
    }
    return NULL;
}

int main(void) {
    for (int i = 0; i < LINES * LINE; ++i) read_only[i] = (uint64_t)i;
    heap = aligned_alloc(4096, 1 << 20);
    sem_init(&turns[0], 0, 1);
    sem_init(&turns[1], 0, 0);
    pthread_t threads[2];
    for (intptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, take_turns, (void*)i);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    printf("%d\n", (int)same_word[0]);
    return 0;
}
