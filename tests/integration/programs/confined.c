// SPDX-License-Identifier: Apache-2.0
// A program of which one thread may make few system calls: confined MODE THREAD, with MODE strict
// (it may read, write and end) or filter (it may make all calls, but they are checked), and THREAD
// main or other. It works until SIGUSR1, and ends with 42.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RIGHT = 42, WRONG = 1 };

static volatile sig_atomic_t stopped;
static volatile int is_confined;

static void stop(int number) {
    (void)number;
    stopped = 1;
}

static int confine(const char* mode) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {1, &allow};
    return strcmp(mode, "strict") == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
                                       : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
                                             prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void work_confined(const char* mode) {
    if (confine(mode) != 0) _exit(WRONG);
    is_confined = 1;
    while (!stopped) {
    }
}

// In strict mode, a thread may not end in the way of the C library.
static void* other_thread(void* mode) {
    work_confined(mode);
    syscall(SYS_exit, 0);
    return NULL;
}

int main(int count, char** words) {
    if (count != 3 || signal(SIGUSR1, stop) == SIG_ERR) return WRONG;
    if (strcmp(words[2], "main") == 0) {
        if (write(1, "ready\n", 6) != 6) return WRONG;
        work_confined(words[1]);
        if (write(1, "right\n", 6) == 6) syscall(SYS_exit, RIGHT);
        syscall(SYS_exit, WRONG);
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, other_thread, words[1]) != 0) return WRONG;
    while (!is_confined) {
    }
    if (write(1, "ready\n", 6) != 6 || pthread_join(thread, NULL) != 0) return WRONG;
    return write(1, "right\n", 6) == 6 ? RIGHT : WRONG;
}
