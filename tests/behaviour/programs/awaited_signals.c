// SPDX-License-Identifier: Apache-2.0
// Blocked signals are taken by sigwait, sigwaitinfo and a descriptor, in order, with their values.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "rounds.h"

enum { TIMES = 20 };

static sigset_t only(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

static void* wait_for_all(void* result) {
    const sigset_t awaited = only(SIGRTMIN + 1);
    for (int i = 0; i < TIMES; i++) {
        int signal;
        CHECK(sigwait(&awaited, &signal) == 0 && signal == SIGRTMIN + 1);
        ++*(long*)result;
    }
    for (int i = 0; i < TIMES; i++) {
        siginfo_t info;
        CHECK(sigwaitinfo(&awaited, &info) == SIGRTMIN + 1);
        CHECK(info.si_code == SI_QUEUE && info.si_pid == getpid() && info.si_int == i);
        *(long*)result += info.si_int;
    }
    return NULL;
}

static void send(int signal, int value) {
    const union sigval content = {.sival_int = value};
    CHECK(sigqueue(getpid(), signal, content) == 0);
}

static long read_all(void) {
    const sigset_t awaited = only(SIGRTMIN + 2);
    const int descriptor = signalfd(-1, &awaited, SFD_CLOEXEC);
    long sum = 0;
    CHECK(descriptor >= 0);
    for (int i = 0; i < TIMES; i++) send(SIGRTMIN + 2, i);
    for (int i = 0; i < TIMES; i++) {
        struct signalfd_siginfo info;
        CHECK(read(descriptor, &info, sizeof info) == sizeof info);
        CHECK(info.ssi_signo == (unsigned)SIGRTMIN + 2 && info.ssi_int == i);
        sum += info.ssi_int;
    }
    CHECK(close(descriptor) == 0);
    return sum;
}

static long work(void) {
    pthread_t thread;
    long waited = 0;
    sigset_t blocked = only(SIGRTMIN + 1);
    sigaddset(&blocked, SIGRTMIN + 2);
    CHECK(pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, wait_for_all, &waited) == 0);
    for (int i = 0; i < TIMES; i++) send(SIGRTMIN + 1, 0);
    for (int i = 0; i < TIMES; i++) send(SIGRTMIN + 1, i);
    CHECK(pthread_join(thread, NULL) == 0);
    return 1000 * waited + read_all();
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
