// SPDX-License-Identifier: Apache-2.0
// bursts THREADS ROUNDS [fork|kill]: threads change their parts of `items` in each round; thread i
// changes i + 1 parts. Then each thread reads places of `table` in random order. The main thread
// initialises both. With `fork`, a child does the same with its copies. With `kill`, the process
// kills itself at the end.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PART = 1 << 14, PLACES = 1 << 16, MOST = 16 };

static double *items, *table;
static long rounds;

static void* work(void* argument) {
    const long thread = (intptr_t)argument;
    double* own = items + thread * (thread + 1) / 2 * PART;
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < (thread + 1) * PART; i++) own[i] += 1;
    }
    volatile double sum = 0;
    uint64_t place = (uint64_t)thread + 1;
    double seen = 0;
    for (long i = 0; i < rounds * PART; i++) {
        place = place * 6364136223846793005u + 1442695040888963407u;
        seen += table[place >> 48];
    }
    sum = seen;
    (void)sum;
    return NULL;
}

static void all(long threads) {
    pthread_t started[MOST];
    for (intptr_t i = 0; i < threads; i++) pthread_create(&started[i], NULL, work, (void*)i);
    for (long i = 0; i < threads; i++) pthread_join(started[i], NULL);
}

int main(int count, char** words) {
    if (count < 3) return 2;
    const long threads = atol(words[1]);
    rounds = atol(words[2]);
    if (threads < 1 || threads > MOST) return 2;
    const long parts = threads * (threads + 1) / 2;
    items = malloc(sizeof(double) * parts * PART);
    table = malloc(sizeof(double) * PLACES);
    for (long i = 0; i < parts * PART; i++) items[i] = 0;
    for (long i = 0; i < PLACES; i++) table[i] = 1;
    const char* end = count > 3 ? words[3] : "";
    if (strcmp(end, "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            all(threads);
            return 7;
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) return 1;
    }
    all(threads);
    if (strcmp(end, "kill") == 0) kill(getpid(), SIGKILL);
    return 7;
}
