// SPDX-License-Identifier: Apache-2.0
// Main fills an array, and then a thread reads it. A thread of a library only waits all the time.
#include <pthread.h>
#include <stdio.h>

int begin_to_wait(void);
void end_waiting(void);

enum { WORDS = 1 << 16, TIMES = 200 };

static volatile long array[WORDS] __attribute__((aligned(4096)));

static void* read_all(void* unused) {
    for (int i = 0; i < WORDS * TIMES; i++) (void)array[i % WORDS];
    return unused;
}

int main(void) {
    pthread_t reader;
    if (begin_to_wait() != 0) return 1;
    for (int i = 0; i < WORDS * TIMES; i++) array[i % WORDS] = i;
    if (pthread_create(&reader, NULL, read_all, NULL) != 0) return 1;
    pthread_join(reader, NULL);
    end_waiting();
    puts("done");
    return 0;
}
