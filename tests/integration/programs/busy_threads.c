// SPDX-License-Identifier: Apache-2.0
// Three threads use the CPU for a given time each. Two add arrays, each its half; one gathers.
// Usage: busy_threads MILLISECONDS. With 0, it prints "ready", waits for a byte, and runs until
// SIGUSR1.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAGES = 64, WORDS = PAGES * 512 };

__attribute__((aligned(4096))) double left[WORDS], right[WORDS], target[WORDS];
__attribute__((aligned(4096))) double values[WORDS];
static int* order;
static long limit_ms;
static volatile sig_atomic_t ended;

static void on_signal(int number) {
    (void)number;
    ended = 1;
}

static int goes_on(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return limit_ms == 0 ? !ended : used.tv_sec * 1000 + used.tv_nsec / 1000000 < limit_ms;
}

__attribute__((noinline)) static void add(long from, long end) {
    for (long i = from; i < end; i++) target[i] = left[i] + right[i];
}

__attribute__((noinline)) static double gather(void) {
    double sum = 0;
    for (long i = 0; i < WORDS; i++) sum += values[order[i]];
    return sum;
}

static void* add_half(void* half) {
    long from = half == NULL ? 0 : WORDS / 2;
    while (goes_on())
        for (int i = 0; i < 20; i++) add(from, from + WORDS / 2);
    return NULL;
}

static void* gather_all(void* unused) {
    (void)unused;
    double sum = 0;
    while (goes_on())
        for (int i = 0; i < 10; i++) sum += gather();
    return sum < 0 ? &limit_ms : NULL;
}

int main(int argc, char** argv) {
    pthread_t threads[3];
    limit_ms = argc > 1 ? atol(argv[1]) : 0;
    signal(SIGUSR1, on_signal);
    order = aligned_alloc(4096, WORDS * sizeof *order);
    for (long i = 0; i < WORDS; i++) order[i] = (int)(i * 7919 % WORDS), left[i] = right[i] = 1;
    pthread_create(&threads[0], NULL, add_half, NULL);
    pthread_create(&threads[1], NULL, add_half, left);
    pthread_create(&threads[2], NULL, gather_all, NULL);
    if (limit_ms == 0) {
        puts("ready");
        fflush(stdout);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    puts(target[0] == 2 && target[WORDS - 1] == 2 ? "right" : "wrong");
    free(order);
    return 0;
}
