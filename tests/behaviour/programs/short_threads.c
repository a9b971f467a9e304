// SPDX-License-Identifier: Apache-2.0
// Threads that start and end, a few at a time.
#include <pthread.h>

#include "rounds.h"

enum { TIMES = 100, AT_A_TIME = 8 };

static void* add_one(void* number) {
    return (void*)((long)number + 1);
}

static long work(void) {
    long sum = 0;
    for (long time = 0; time < TIMES; time++) {
        pthread_t threads[AT_A_TIME];
        for (long i = 0; i < AT_A_TIME; i++)
            CHECK(pthread_create(&threads[i], NULL, add_one, (void*)(time + i)) == 0);
        for (int i = 0; i < AT_A_TIME; i++) {
            void* result;
            CHECK(pthread_join(threads[i], &result) == 0);
            sum += (long)result;
        }
    }
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
