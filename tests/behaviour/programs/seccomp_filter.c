// SPDX-License-Identifier: Apache-2.0
// A child is killed at any system call except write, exit and a handler's return. It touches new
// pages, gets a signal, and ends normally; another child makes a forbidden call.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "rounds.h"

enum { NUMBERS = 1 << 18 };

static long numbers[NUMBERS];
static volatile sig_atomic_t handled;

#define ALLOW(number)                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void on_fault(int signal) {
    (void)signal;
    handled++;
}

static void confine(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    CHECK(signal(SIGTRAP, on_fault) != SIG_ERR);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

static int status_of_child(int forbidden) {
    int status;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        confine();
        for (int i = 0; i < NUMBERS; i++) numbers[i] = i;
        if (forbidden) getppid();
        __asm__ volatile("int3");
        _exit(handled == 1 && numbers[1000] == 1000 ? 21 : 22);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static long work(void) {
    return 1000000L * status_of_child(0) + status_of_child(1);
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
