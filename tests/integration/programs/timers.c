// SPDX-License-Identifier: Apache-2.0
// timers: counts the signals of its three interval timers and of a POSIX timer. Until SIGUSR1 it
// works. Then it waits until each signal has come three more times, prints
// "right", and ends with status 42.
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static atomic_int stopped;
static atomic_long came[65];

static void count(int number) {
    if (number == SIGUSR1)
        atomic_store(&stopped, 1);
    else
        atomic_fetch_add(&came[number], 1);
}

int main(void) {
    const int signals[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGRTMIN};
    const struct itimerval often = {{0, 5000}, {0, 5000}};
    const struct itimerspec rarely = {{0, 20000000}, {0, 20000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    timer_t timer;
    signal(SIGUSR1, count);
    for (int i = 0; i < 4; ++i) signal(signals[i], count);
    setitimer(ITIMER_REAL, &often, NULL);
    setitimer(ITIMER_VIRTUAL, &often, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &rarely, NULL);
    puts("ready");
    fflush(stdout);
    while (!atomic_load(&stopped)) {
    }
    // If a timer has stopped, its signal never comes, and the test ends after its time limit.
    for (int i = 0; i < 4; ++i) {
        const long before = atomic_load(&came[signals[i]]);
        while (atomic_load(&came[signals[i]]) < before + 3) {
        }
    }
    puts("right");
    return 42;
}
