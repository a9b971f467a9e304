// SPDX-License-Identifier: Apache-2.0
// clone without the C library's threads: a thread, a process in the same memory, and a fork.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "rounds.h"

enum { STACK = 64 * 1024, STATUS = 5, LIMIT = 100000 };

static char stack[STACK] __attribute__((aligned(16)));

static int store(void* place) {
    __atomic_store_n((int*)place, 77, __ATOMIC_SEQ_CST);
    syscall(SYS_exit, STATUS);
    return 0;
}

static void become_thread(int* ended) {
    const int thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                       CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;
    int value = 0;
    CHECK(clone(store, stack + STACK, thread, &value, ended, NULL, ended) > 0);
    // The kernel clears it when the thread has left its stack.
    for (int i = 0; __atomic_load_n(ended, __ATOMIC_SEQ_CST) != 0; i++) {
        CHECK(i < LIMIT);
        usleep(1000);
    }
    CHECK(value == 77);
}

static long work(void) {
    int status = 0, value = 0, ended = -1;

    become_thread(&ended);
    const pid_t sharing = clone(store, stack + STACK, CLONE_VM | SIGCHLD, &value);
    CHECK(sharing > 0 && waitpid(sharing, &status, 0) == sharing && WIFEXITED(status));
    long result = 100 * value + WEXITSTATUS(status);

    const pid_t forked = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (forked == 0) syscall(SYS_exit_group, STATUS);
    CHECK(waitpid(forked, &status, 0) == forked && WIFEXITED(status));
    return 10 * result + WEXITSTATUS(status);
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
