// SPDX-License-Identifier: Apache-2.0
// For checks of signals: each returns NULL, or the condition that is false.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#define REQUIRE(fact)                                 \
    do {                                              \
        if (!(fact)) {                                \
            return "line " TEXT(__LINE__) ": " #fact; \
        }                                             \
    } while (0)
#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x

static volatile sig_atomic_t handled;
static volatile sig_atomic_t last_values[64];

static void note(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    if (handled < 64) {
        last_values[handled] = info->si_value.sival_int;
    }
    handled = handled + 1;
}

static void handle(int number, int flags) {
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | flags};
    sigaction(number, &action, NULL);
    handled = 0;
}

static sigset_t only(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return set;
}

static void block(int number) {
    const sigset_t set = only(number);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void unblock(int number) {
    const sigset_t set = only(number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void queue(int number, int value) {
    sigqueue(getpid(), number, (union sigval){.sival_int = value});
}

// Sends the signal after the calling process has waited for a while.
static pid_t later(int number) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        usleep(100000);
        kill(parent, number);
        _exit(0);
    }
    return child;
}
