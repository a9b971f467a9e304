// SPDX-License-Identifier: Apache-2.0
// A child that may only read, write and exit continues to compute.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "rounds.h"

enum { NUMBERS = 100000 };

static int numbers[NUMBERS];

static void compute(void) {
    long sum = 0;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) syscall(SYS_exit, 3);
    for (int i = 0; i < NUMBERS; i++) numbers[i] = i;
    for (int i = 0; i < NUMBERS; i++) sum += numbers[i];
    syscall(SYS_exit, sum == 4999950000 ? 11 : 12);
}

static long work(void) {
    int status;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) compute();
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
