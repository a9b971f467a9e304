// SPDX-License-Identifier: Apache-2.0
//
// Signals as system calls see them: blocked, waiting, taken by a call instead of a handler,
// ignored. One line for each check: its name and "right", or what was wrong.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "signal_checks.h"

static const char* sent_before(void) {
    block(SIGUSR1);
    kill(getpid(), SIGUSR1);
    const sigset_t set = only(SIGUSR1);
    int got = 0;
    REQUIRE(sigwait(&set, &got) == 0 && got == SIGUSR1);
    const struct timespec none = {0, 0};
    REQUIRE(sigtimedwait(&set, NULL, &none) == -1 && errno == EAGAIN);
    return NULL;
}

static const char* sent_while_waiting(void) {
    block(SIGUSR1);
    const sigset_t set = only(SIGUSR1);
    const pid_t child = later(SIGUSR1);
    siginfo_t info;
    REQUIRE(sigwaitinfo(&set, &info) == SIGUSR1);
    REQUIRE(info.si_code == SI_USER && info.si_pid == child);
    REQUIRE(waitpid(child, NULL, 0) == child);
    return NULL;
}

// As in daemons: all signals are blocked, and one thread takes every signal.
static const char* all_signals(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    queue(SIGTERM, 1);
    siginfo_t info;
    REQUIRE(sigwaitinfo(&all, &info) == SIGTERM && info.si_value.sival_int == 1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return NULL;
}

static const char* in_order(void) {
    block(SIGRTMIN + 3);
    handle(SIGRTMIN + 3, 0);
    for (int i = 0; i < 20; ++i) {
        queue(SIGRTMIN + 3, i);
    }
    const sigset_t set = only(SIGRTMIN + 3);
    siginfo_t info;
    for (int i = 0; i < 10; ++i) {
        REQUIRE(sigwaitinfo(&set, &info) == SIGRTMIN + 3 && info.si_value.sival_int == i);
    }
    unblock(SIGRTMIN + 3);
    REQUIRE(handled == 10);
    for (int i = 0; i < 10; ++i) {
        REQUIRE(last_values[i] == 10 + i);
    }
    return NULL;
}

static const char* by_descriptor(void) {
    block(SIGRTMIN + 4);
    const sigset_t set = only(SIGRTMIN + 4);
    const int file = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    REQUIRE(file >= 0);
    const int events = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    REQUIRE(epoll_ctl(events, EPOLL_CTL_ADD, file, &event) == 0);
    struct signalfd_siginfo info;
    REQUIRE(read(file, &info, sizeof info) == -1 && errno == EAGAIN);
    for (int i = 0; i < 5; ++i) {
        queue(SIGRTMIN + 4, 100 + i);
    }
    for (int i = 0; i < 5; ++i) {
        REQUIRE(epoll_wait(events, &event, 1, -1) == 1);
        REQUIRE(read(file, &info, sizeof info) == sizeof info);
        REQUIRE(info.ssi_signo == (uint32_t)SIGRTMIN + 4 && info.ssi_int == 100 + i);
        REQUIRE(info.ssi_pid == (uint32_t)getpid());
    }
    REQUIRE(read(file, &info, sizeof info) == -1 && errno == EAGAIN);
    const sigset_t other = only(SIGRTMIN + 5);
    block(SIGRTMIN + 5);
    REQUIRE(signalfd(file, &other, 0) == file);
    queue(SIGRTMIN + 5, 7);
    REQUIRE(read(file, &info, sizeof info) == sizeof info && info.ssi_int == 7);
    close(events);
    close(file);
    return NULL;
}

static const char* pending(void) {
    block(SIGUSR2);
    handle(SIGUSR2, 0);
    sigset_t set;
    REQUIRE(sigpending(&set) == 0 && sigismember(&set, SIGUSR2) == 0);
    kill(getpid(), SIGUSR2);
    REQUIRE(sigpending(&set) == 0 && sigismember(&set, SIGUSR2) == 1);
    REQUIRE(handled == 0);
    unblock(SIGUSR2);
    REQUIRE(handled == 1);
    REQUIRE(sigpending(&set) == 0 && sigismember(&set, SIGUSR2) == 0);
    return NULL;
}

// In read-only memory, like constants.
static const sigset_t* constant_set(void) {
    sigset_t* set = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigfillset(set);
    sigdelset(set, SIGUSR2);
    mprotect(set, 4096, PROT_READ);
    return set;
}

static const char* masks_of_calls(void) {
    const sigset_t* within = constant_set();
    const struct timespec longest = {60, 0};
    const int events = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    block(SIGUSR2);
    handle(SIGUSR2, SA_RESTART);
    for (int call = 0; call < 5; ++call) {
        for (int waiting = 0; waiting < 2; ++waiting) {
            handled = 0;
            pid_t child = 0;
            if (waiting) {
                child = later(SIGUSR2);
            } else {
                kill(getpid(), SIGUSR2);
            }
            errno = 0;
            int result = 0;
            switch (call) {
                case 0:
                    result = sigsuspend(within);
                    break;
                case 1:
                    result = ppoll(NULL, 0, &longest, within);
                    break;
                case 2:
                    result = pselect(0, NULL, NULL, NULL, &longest, within);
                    break;
                case 3:
                    result = epoll_pwait(events, &event, 1, 60000, within);
                    break;
                case 4:
                    result = (int)syscall(SYS_epoll_pwait2, events, &event, 1, &longest, within, 8);
                    if (result == -1 && errno == ENOSYS) {
                        unblock(SIGUSR2);
                        block(SIGUSR2);
                        errno = EINTR;
                    }
                    break;
            }
            REQUIRE(result == -1 && errno == EINTR);
            REQUIRE(handled == 1);
            REQUIRE(!waiting || waitpid(child, NULL, 0) == child);
            sigset_t now;
            pthread_sigmask(SIG_BLOCK, NULL, &now);
            REQUIRE(sigismember(&now, SIGUSR2) == 1 && sigismember(&now, SIGTERM) == 0);
        }
    }
    close(events);
    return NULL;
}

// A call with a ready result returns it, and the signal stays pending.
static const char* ready_before_signal(void) {
    int ends[2];
    REQUIRE(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    block(SIGUSR2);
    handle(SIGUSR2, 0);
    kill(getpid(), SIGUSR2);
    struct pollfd file = {.fd = ends[0], .events = POLLIN};
    REQUIRE(ppoll(&file, 1, NULL, constant_set()) == 1);
    REQUIRE(handled == 0);
    unblock(SIGUSR2);
    REQUIRE(handled == 1);
    return NULL;
}

static void* mask_of_thread(void* set) {
    pthread_sigmask(SIG_BLOCK, NULL, set);
    return NULL;
}

static const char* inherited_by_thread(void) {
    block(SIGUSR1);
    block(SIGSEGV);
    sigset_t set;
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, mask_of_thread, &set) == 0);
    pthread_join(thread, NULL);
    REQUIRE(sigismember(&set, SIGUSR1) == 1 && sigismember(&set, SIGSEGV) == 1);
    REQUIRE(sigismember(&set, SIGTERM) == 0);
    unblock(SIGSEGV);
    return NULL;
}

static void* take_ten(void* taken) {
    const sigset_t set = only(SIGRTMIN + 6);
    for (int i = 0, got = 0; i < 10; ++i) {
        *(int*)taken += sigwait(&set, &got) == 0 && got == SIGRTMIN + 6;
    }
    return NULL;
}

static const char* by_another_thread(void) {
    block(SIGRTMIN + 6);
    pthread_t threads[3];
    int taken[3] = {0};
    for (int i = 0; i < 3; ++i) {
        REQUIRE(pthread_create(&threads[i], NULL, take_ten, &taken[i]) == 0);
    }
    for (int i = 0; i < 30; ++i) {
        queue(SIGRTMIN + 6, i);
    }
    for (int i = 0; i < 3; ++i) {
        pthread_join(threads[i], NULL);
        REQUIRE(taken[i] == 10);
    }
    return NULL;
}

static pthread_barrier_t ready;
static volatile sig_atomic_t handled_by;
static volatile sig_atomic_t times_handled;

static void note_thread(int number) {
    (void)number;
    handled_by = (int)gettid();
    times_handled = times_handled + 1;
}

static void* wait_for_handler(void* open) {
    const sigset_t set = only(SIGUSR1);
    pthread_sigmask(open != NULL ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
    pthread_barrier_wait(&ready);
    if (open != NULL) {
        while (times_handled == 0) {
            usleep(1000);
        }
    }
    pthread_barrier_wait(&ready);
    return (void*)(intptr_t)gettid();
}

// A signal to the process goes once, to the only thread that does not block it.
static const char* to_the_open_thread(void) {
    signal(SIGUSR1, note_thread);
    block(SIGUSR1);
    pthread_barrier_init(&ready, NULL, 5);
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; ++i) {
        pthread_create(&threads[i], NULL, wait_for_handler, i == 2 ? &ready : NULL);
    }
    pthread_barrier_wait(&ready);
    kill(getpid(), SIGUSR1);
    pthread_barrier_wait(&ready);
    void* thread[4];
    for (int i = 0; i < 4; ++i) {
        pthread_join(threads[i], &thread[i]);
    }
    REQUIRE(times_handled == 1);
    REQUIRE(handled_by == (int)(intptr_t)thread[2]);
    return NULL;
}

// The end of a child interrupts nothing if the program does not ask for this signal.
static const char* ignored_interrupts_nothing(void) {
    const int ways[] = {0, 1};
    for (size_t i = 0; i < 2; ++i) {
        signal(SIGCHLD, ways[i] ? SIG_IGN : SIG_DFL);
        const pid_t child = fork();
        if (child == 0) {
            usleep(50000);
            _exit(3);
        }
        const struct timespec time = {0, 400000000};
        REQUIRE(nanosleep(&time, NULL) == 0);
        REQUIRE(poll(NULL, 0, 1) == 0);
        int status = 0;
        errno = 0;
        const pid_t waited = waitpid(child, &status, 0);
        if (ways[i]) {
            REQUIRE(waited == -1 && errno == ECHILD);
        } else {
            REQUIRE(waited == child && WEXITSTATUS(status) == 3);
        }
    }
    signal(SIGCHLD, SIG_DFL);
    return NULL;
}

static const char* cannot_be_blocked(void) {
    sigset_t all, before, now;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_sigmask(SIG_SETMASK, &before, &now);
    REQUIRE(sigismember(&now, SIGKILL) == 0 && sigismember(&now, SIGSTOP) == 0);
    REQUIRE(sigismember(&now, SIGTERM) == 1 && sigismember(&now, SIGSEGV) == 1);
    return NULL;
}

static const char* kept_by_exec(const char* self) {
    block(SIGUSR1);
    signal(SIGHUP, SIG_IGN);
    const pid_t child = fork();
    if (child == 0) {
        kill(getpid(), SIGUSR1);
        execl(self, self, "executed", NULL);
        _exit(9);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    return NULL;
}

static int executed(void) {
    struct sigaction action;
    sigaction(SIGHUP, NULL, &action);
    const sigset_t set = only(SIGUSR1);
    const struct timespec none = {0, 0};
    return action.sa_handler == SIG_IGN && sigtimedwait(&set, NULL, &none) == SIGUSR1 ? 5 : 4;
}

static const struct {
    const char* name;
    const char* (*check)(void);
} checks[] = {
    {"sent before", sent_before},
    {"sent while waiting", sent_while_waiting},
    {"all signals", all_signals},
    {"in order", in_order},
    {"by descriptor", by_descriptor},
    {"pending", pending},
    {"masks of calls", masks_of_calls},
    {"ready before signal", ready_before_signal},
    {"inherited by thread", inherited_by_thread},
    {"by another thread", by_another_thread},
    {"to the open thread", to_the_open_thread},
    {"ignored interrupts nothing", ignored_interrupts_nothing},
    {"cannot be blocked", cannot_be_blocked},
};

int main(int count, char* arguments[]) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count > 1) {
        return executed();
    }
    alarm(240);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; ++i) {
        const char* wrong = checks[i].check();
        printf("%s: %s\n", checks[i].name, wrong == NULL ? "right" : wrong);
    }
    const char* wrong = kept_by_exec(arguments[0]);
    printf("kept by exec: %s\n", wrong == NULL ? "right" : wrong);
    return 0;
}
