// SPDX-License-Identifier: Apache-2.0
// Checks what the handler of a signal learns about its sender. Without a sender, these signals come
// from the processor.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include "rounds.h"

enum { EACH = 50 };

static const int signals[] = {SIGILL, SIGTRAP, SIGFPE, SIGSEGV, SIGBUS};
enum { SIGNALS = sizeof signals / sizeof *signals };
static siginfo_t told;

static void on_signal(int signal, siginfo_t* info, void* context) {
    (void)context;
    CHECK(info->si_signo == signal);
    told = *info;
}

static void check_told(int signal, int code) {
    CHECK(told.si_signo == signal && told.si_code == code);
    CHECK(told.si_pid == getpid() && told.si_uid == getuid());
    told.si_signo = 0;
}

static void sent(int signal) {
    CHECK(kill(getpid(), signal) == 0);
    check_told(signal, SI_USER);
    const union sigval value = {.sival_ptr = &told};
    CHECK(pthread_sigqueue(pthread_self(), signal, value) == 0);
    CHECK(told.si_value.sival_ptr == &told);
    check_told(signal, SI_QUEUE);
}

static long work(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < SIGNALS; i++) CHECK(sigaction(signals[i], &action, NULL) == 0);
    for (int i = 0; i < EACH; i++) {
        for (int k = 0; k < SIGNALS; k++) sent(signals[k]);
    }
    return EACH;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
