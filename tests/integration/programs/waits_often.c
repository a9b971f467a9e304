// SPDX-License-Identifier: Apache-2.0
// waits_often: waits 20 ms at a time until SIGUSR1. A wait that ends early is printed with its
// error. Ends with status 42.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t stopped;

static void stop(int number) {
    (void)number;
    stopped = 1;
}

int main(void) {
    signal(SIGUSR1, stop);
    puts("ready");
    fflush(stdout);
    while (!stopped)
        if (poll(NULL, 0, 20) != 0 && !stopped) {
            printf("poll: %s\n", strerror(errno));
            return 42;
        }
    puts("right");
    return 42;
}
