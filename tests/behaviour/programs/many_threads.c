// SPDX-License-Identifier: Apache-2.0
// Three hundred threads at the same time, on small stacks, each with variables of its own.
#include <pthread.h>

#include "rounds.h"

enum { THREADS = 300, STACK = 64 * 1024 };

static pthread_barrier_t all_are_there;
static __thread long own = 1;

static void* stay(void* number) {
    char bytes[256];
    memset(bytes, 1, sizeof bytes);
    own += (long)number;
    pthread_barrier_wait(&all_are_there);
    return (void*)(own + bytes[(long)number % 256]);
}

static long work(void) {
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    long sum = 0;
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, STACK) == 0);
    CHECK(pthread_barrier_init(&all_are_there, NULL, THREADS + 1) == 0);
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], &small, stay, (void*)i) == 0);
    pthread_barrier_wait(&all_are_there);
    for (int i = 0; i < THREADS; i++) {
        void* result;
        CHECK(pthread_join(threads[i], &result) == 0);
        sum += (long)result;
    }
    CHECK(pthread_barrier_destroy(&all_are_there) == 0 && pthread_attr_destroy(&small) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
