// SPDX-License-Identifier: Apache-2.0
// Signals of a timer end waiting system calls or restart them, as the flags of the handler say.
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "rounds.h"

enum { TIMES = 15, INTERVAL_US = 1000, LONG_MS = 60000 };

static volatile sig_atomic_t alarms;

static void on_alarm(int signal) {
    (void)signal;
    alarms++;
}

static void install(int flags) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
}

static long interrupted(int descriptor) {
    const struct timespec minute = {60, 0};
    struct timespec left;
    struct pollfd input = {.fd = descriptor, .events = POLLIN};
    long ended = 0;
    char byte;
    for (int i = 0; i < TIMES; i++) {
        CHECK(read(descriptor, &byte, 1) == -1 && errno == EINTR);
        // The kernel counts the timer's slack of 50 us as time that is left.
        CHECK(nanosleep(&minute, &left) == -1 && errno == EINTR && left.tv_sec <= 60);
        CHECK(poll(&input, 1, LONG_MS) == -1 && errno == EINTR);
        ended += 3;
    }
    return ended;
}

// A child writes only after alarms have arrived during our wait.
static void go_on(const int ends[2]) {
    char byte = 0;
    int status;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const struct timespec some = {0, 30 * 1000 * INTERVAL_US};
        CHECK(nanosleep(&some, NULL) == 0);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x');
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static long work(void) {
    const struct itimerval often = {{0, INTERVAL_US}, {0, INTERVAL_US}}, never = {0};
    int ends[2];
    CHECK(pipe(ends) == 0);
    install(0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    const long ended = interrupted(ends[0]);
    install(SA_RESTART);
    go_on(ends);
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    return ended;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
