// SPDX-License-Identifier: Apache-2.0
// Children that share the memory until they execute another program, or fail to.
#define _GNU_SOURCE
#include <spawn.h>
#include <sys/wait.h>

#include "rounds.h"

extern char** environ;

static int status_of(pid_t child) {
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static pid_t start(const char* program) {
    volatile int reached = 0;
    const pid_t child = vfork();
    if (child == 0) {
        reached = 1;
        execl(program, program, "-c", "exit 3", NULL);
        _exit(9);
    }
    CHECK(reached == 1);
    return child;
}

static long work(void) {
    char* command[] = {"sh", "-c", "exit 5", NULL};
    pid_t spawned;
    const int started = status_of(start("/bin/sh"));
    const int absent = status_of(start("/no/such/program"));

    CHECK(posix_spawn(&spawned, "/bin/sh", NULL, NULL, command, environ) == 0);
    const int ended = status_of(spawned);
    CHECK(posix_spawn(&spawned, "/no/such/program", NULL, NULL, command, environ) == ENOENT);
    return 100 * started + 10 * absent + ended;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
