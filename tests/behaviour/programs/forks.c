// SPDX-License-Identifier: Apache-2.0
// Many children at the same time; each changes its own copy of the memory.
#include <sys/wait.h>

#include "rounds.h"

enum { CHILDREN = 20, BYTES = 64 * 1024 };

static char copied[BYTES];

static long work(void) {
    pid_t children[CHILDREN];
    long right = 0;

    memset(copied, 99, BYTES);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            for (int k = 0; k < BYTES; k++) CHECK(copied[k] == 99);
            memset(copied, i, BYTES);
            _exit(copied[BYTES - 1]);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        right += WIFEXITED(status) && WEXITSTATUS(status) == i;
    }
    for (int k = 0; k < BYTES; k++) CHECK(copied[k] == 99);
    return right;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
