// SPDX-License-Identifier: Apache-2.0
// Handlers of a bad access, a division by zero and an invalid instruction leave by siglongjmp.
#include <setjmp.h>
#include <signal.h>

#include "rounds.h"

enum { EACH = 100 };

static sigjmp_buf before;
static volatile int number = 100, zero;
static volatile int* volatile nowhere;

static void on_fault(int signal) {
    siglongjmp(before, signal);
}

static void fault(int kind) {
    if (kind == 0) *nowhere = 1;
    if (kind == 1) number = number / zero;
    if (kind == 2) __asm__ volatile("ud2");
}

static long work(void) {
    static const int signals[3] = {SIGSEGV, SIGFPE, SIGILL};
    volatile long caught = 0;

    for (int kind = 0; kind < 3; kind++) {
        struct sigaction action = {.sa_handler = on_fault};
        CHECK(sigaction(signals[kind], &action, NULL) == 0);
    }
    for (volatile int i = 0; i < 3 * EACH; i++) {
        const int signal = sigsetjmp(before, 1);
        if (signal == 0) {
            fault(i % 3);
            CHECK(!"reached");
        }
        CHECK(signal == signals[i % 3]);
        caught++;
    }
    return caught;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
