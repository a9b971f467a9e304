// SPDX-License-Identifier: Apache-2.0
// A child is traced: its parent sees each signal, reads and changes its memory, and continues it.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "rounds.h"

static volatile long looked_at;

static void be_traced(void) {
    CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
    looked_at = 1234;
    raise(SIGSTOP);
    raise(SIGUSR1);
    _exit(looked_at == 4321 ? 33 : 34);
}

static long work(void) {
    int status;
    long stops = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) be_traced();
    CHECK(waitpid(child, &status, 0) == child);
    while (WIFSTOPPED(status)) {
        stops = 100 * stops + WSTOPSIG(status);
        CHECK(ptrace(PTRACE_PEEKDATA, child, &looked_at, 0) == (stops > 100 ? 4321 : 1234));
        CHECK(ptrace(PTRACE_POKEDATA, child, &looked_at, 4321) == 0);
        CHECK(ptrace(PTRACE_CONT, child, 0, 0) == 0);
        CHECK(waitpid(child, &status, 0) == child);
    }
    CHECK(WIFEXITED(status));
    return 100 * stops + WEXITSTATUS(status);
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
