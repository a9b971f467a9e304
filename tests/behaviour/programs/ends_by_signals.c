// SPDX-License-Identifier: Apache-2.0
// Children end by the default actions of signals: of their own faults, and of signals that they or
// their parent send.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "rounds.h"

enum { TIMES = 4, THREADS = 2 };

static const int numbers[] = {SIGSEGV, SIGABRT, SIGTERM, SIGUSR1, SIGFPE, SIGILL};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static void end_by(int number) {
    if (number == SIGSEGV) *(volatile int*)8 = 1;
    if (number == SIGILL) __asm__ volatile("ud2");
    if (number == SIGABRT) abort();
    if (number == SIGUSR1) {
        for (;;) pause();  // the parent sends it
    }
    raise(number);
    _exit(1);
}

static void run_child(int number) {
    int status;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) end_by(number);
    if (number == SIGUSR1) CHECK(kill(child, number) == 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == number);
}

static void* run_children(void* unused) {
    for (int i = 0; i < TIMES * NUMBERS; i++) run_child(numbers[i % NUMBERS]);
    return unused;
}

static long work(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, run_children, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return THREADS * TIMES * NUMBERS;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
