// SPDX-License-Identifier: Apache-2.0
// One program starts others. Each mode begins `data`, which the program then writes to; prints
// "right" and returns 7 if the started program ended as expected. Modes:
//   vfork       a child of vfork executes `after`
//   vfork_fail  one that cannot execute anything, and ends
//   exec_fail   the program itself tries to execute what is not there
//   empty       executes `after` with an empty environment
//   own         executes `after` with an LD_PRELOAD of its own
//   system      runs `after` by system(3) and by popen(3)
//   raw         a process by the system call clone runs on, without the C library's fork
//   after       writes WORDS words
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels.h"

enum { WORDS = 1024, PAGES = 64 };

char data[PAGES * PAGE] __attribute__((aligned(4096)));
char* const nothing[] = {NULL};

static int status_of(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int by_vfork(char** after, const char* path) {
    pid_t child = vfork();
    if (child == 0) {
        execv(path, after);
        _exit(3);
    }
    return status_of(child);
}

static int by_fork(char** after, char* const* environment) {
    pid_t child = fork();
    if (child == 0) {
        execve(after[0], after, environment);
        _exit(3);
    }
    return status_of(child);
}

static int by_the_c_library(const char* self) {
    char command[4200], line[16] = "";
    snprintf(command, sizeof command, "'%s' after", self);
    const int status = system(command);
    FILE* output = popen(command, "r");
    const int got = output != NULL && fgets(line, sizeof line, output) != NULL;
    const int closed = output != NULL ? pclose(output) : -1;
    return WEXITSTATUS(status) == 5 && got && strcmp(line, "after\n") == 0 &&
           WEXITSTATUS(closed) == 5;
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    char* after[] = {argv[0], "after", NULL};
    char* const own[] = {"LD_PRELOAD=libm.so.6", NULL};
    int right = 0;
    if (strcmp(mode, "after") == 0) {
        write_strided(data, WORDS, 8);
        const char* preload = getenv("LD_PRELOAD");
        if (preload == NULL || strcmp(preload, "libm.so.6") == 0) puts("after");
        return 5;
    }
    if (strcmp(mode, "vfork") == 0) right = by_vfork(after, argv[0]) == 5;
    if (strcmp(mode, "vfork_fail") == 0) right = by_vfork(after, "/no/such/program") == 3;
    if (strcmp(mode, "exec_fail") == 0) {
        right = execv("/no/such/program", after) == -1 && errno == ENOENT;
    }
    if (strcmp(mode, "empty") == 0) right = by_fork(after, nothing) == 5;
    if (strcmp(mode, "own") == 0) right = by_fork(after, own) == 5;
    if (strcmp(mode, "system") == 0) right = by_the_c_library(argv[0]);
    if (strcmp(mode, "raw") == 0) {
        const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            write_strided(data, WORDS, 8);
            _exit(5);
        }
        right = status_of(child) == 5;
    }
    write_strided(data, PAGES, PAGE);
    puts(right ? "right" : "wrong");
    return right ? 7 : 1;
}
