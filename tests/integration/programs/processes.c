// SPDX-License-Identifier: Apache-2.0
// One process becomes several. Modes:
//   fork    the parent writes WORDS words before and WORDS after the fork; the child reads 2 WORDS
//   exec    writes WORDS words, then replaces itself by its own `after` mode
//   reexec  the same by way of /proc/self/exe
//   after   reads WORDS words
//   spawn   posix_spawn of its own `after` mode, then writes WORDS words
//   inherit the parent writes data and more, a child and its child read both; one writes to more
//   forks   five children, one inside the other; child k writes k WORDS words
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels.h"

enum { WORDS = 1024 };

char data[2 * PAGE] __attribute__((aligned(4096)));
char more[2 * PAGE] __attribute__((aligned(4096)));
extern char** environ;

static int wait_for(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int fork_once(void) {
    write_strided(data, WORDS, 8);
    pid_t child = fork();
    if (child == 0) {
        read_strided(data, WORDS, 8);
        read_strided(data, WORDS, 8);
        return 0;
    }
    write_strided(data, WORDS, 8);
    return wait_for(child);
}

static int fork_nested(void) {
    for (int k = 1; k <= 5; k++) {
        pid_t child = fork();
        if (child != 0) return wait_for(child);
        for (int i = 0; i < k; i++) write_strided(data, WORDS, 8);
    }
    return 0;
}

static int inherit(void) {
    write_strided(data, WORDS, 8);
    write_strided(more, WORDS, 8);
    pid_t child = fork();
    if (child != 0) return wait_for(child);
    pid_t grandchild = fork();
    read_strided(data, WORDS, 8);
    read_strided(more, WORDS, 8);
    if (grandchild == 0) return 0;
    write_strided(more, 1, 8);
    return wait_for(grandchild);
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    char* after[] = {argv[0], "after", NULL};
    if (strcmp(mode, "fork") == 0) return fork_once();
    if (strcmp(mode, "forks") == 0) return fork_nested();
    if (strcmp(mode, "inherit") == 0) return inherit();
    if (strcmp(mode, "exec") == 0 || strcmp(mode, "reexec") == 0) {
        write_strided(data, WORDS, 8);
        execv(strcmp(mode, "exec") == 0 ? argv[0] : "/proc/self/exe", after);
        return 1;
    }
    if (strcmp(mode, "spawn") == 0) {
        pid_t child;
        if (posix_spawn(&child, argv[0], NULL, NULL, after, environ) != 0) return 1;
        write_strided(data, WORDS, 8);
        return wait_for(child);
    }
    if (strcmp(mode, "after") == 0) {
        read_strided(data, WORDS, 8);
        return 0;
    }
    fprintf(stderr, "usage: %s fork|forks|inherit|exec|reexec|after|spawn\n", argv[0]);
    return 2;
}
