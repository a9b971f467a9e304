// SPDX-License-Identifier: Apache-2.0
// Two interval timers interrupt a computation all the time; their handler changes errno.
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

#include "rounds.h"

enum { ALARMS = 40, STEPS = 100000, LIMIT = 1000000 };

static volatile sig_atomic_t alarms;
static volatile uint64_t seed = 88172645463325252;

static void on_alarm(int signal) {
    (void)signal;
    const int before = errno;
    errno = E2BIG;
    alarms++;
    errno = before;
}

static long compute(void) {
    uint64_t x = seed;
    for (int i = 0; i < STEPS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return (long)(x >> 1);
}

static long work(void) {
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {0};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const long expected = compute();

    alarms = 0;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && sigaction(SIGPROF, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0 && setitimer(ITIMER_PROF, &often, NULL) == 0);
    for (int i = 0; alarms < ALARMS; i++) {
        CHECK(i < LIMIT);
        errno = EDOM;
        CHECK(compute() == expected);
        CHECK(errno == EDOM);
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0 && setitimer(ITIMER_PROF, &never, NULL) == 0);
    return expected;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
