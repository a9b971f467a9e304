// SPDX-License-Identifier: Apache-2.0
// A single signal ends the system call in which a thread waits, while another thread forks all the
// time. Another process sends the signals, when the kernel says that the thread is in its call.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "rounds.h"

enum { TIMES = 12, LIMIT_S = 300 };

static int quiet, epolled, semaphores;
static pid_t sleeper;
static int word;
static _Thread_local volatile sig_atomic_t handled;
static atomic_int forking;

static long by_pause(void) {
    return syscall(SYS_pause);
}

static long by_read(void) {
    char byte;
    return syscall(SYS_read, quiet, &byte, 1);
}

static long by_sleep(void) {
    const struct timespec minutes = {600, 0};
    return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &minutes, NULL);
}

static long by_poll(void) {
    struct pollfd file = {quiet, POLLIN, 0};
    return syscall(SYS_poll, &file, 1, -1);
}

static long by_epoll(void) {
    struct epoll_event event;
    return syscall(SYS_epoll_wait, epolled, &event, 1, -1);
}

static long by_futex(void) {
    return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
}

static long by_semaphore(void) {
    struct sembuf take = {0, -1, 0};
    return syscall(SYS_semop, semaphores, &take, 1);
}

static long by_child(void) {
    int status;
    return syscall(SYS_wait4, sleeper, &status, 0, NULL);
}

static const struct {
    long number;
    long (*wait)(void);
} calls[] = {{SYS_pause, by_pause},     {SYS_read, by_read},        {SYS_clock_nanosleep, by_sleep},
             {SYS_poll, by_poll},       {SYS_epoll_wait, by_epoll}, {SYS_futex, by_futex},
             {SYS_semop, by_semaphore}, {SYS_wait4, by_child}};
enum { CALLS = sizeof calls / sizeof *calls };

// The sender also reads this.
static struct {
    atomic_int threads[CALLS], ended[CALLS];
}* shared;

static void on_signal(int signal) {
    (void)signal;
    handled = 1;
}

static void* wait_often(void* argument) {
    const long kind = (long)argument;
    atomic_store(&shared->threads[kind], (int)syscall(SYS_gettid));
    for (int i = 0; i < TIMES; i++) {
        handled = 0;
        CHECK(calls[kind].wait() == -1 && errno == EINTR);
        CHECK(handled == 1);
        atomic_fetch_add(&shared->ended[kind], 1);
    }
    return NULL;
}

static void* fork_often(void* none) {
    while (atomic_load(&forking)) {
        int status;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(0);
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    return none;
}

// Whether the thread waits in this system call. The recorder has futexes of its own.
static int waits(pid_t process, int thread, long number) {
    char name[64], text[64] = {0};
    snprintf(name, sizeof name, "/proc/%d/task/%d/syscall", process, thread);
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0 && close(file) == 0);
    char* first = text;
    if (text[0] == 'r' || strtol(text, &first, 10) != number) return 0;
    return number != SYS_futex || strtoul(first, NULL, 16) == (unsigned long)&word;
}

static void end_call(pid_t process, int kind) {
    const struct timespec shortly = {0, 100000};
    const int before = atomic_load(&shared->ended[kind]);
    int thread;
    while ((thread = atomic_load(&shared->threads[kind])) == 0 ||
           !waits(process, thread, calls[kind].number)) {
        CHECK(nanosleep(&shortly, NULL) == 0);
    }
    CHECK(syscall(SYS_tgkill, process, thread, SIGUSR1) == 0);
    const time_t end = time(NULL) + LIMIT_S;
    while (atomic_load(&shared->ended[kind]) == before) {
        CHECK(time(NULL) < end);
        CHECK(nanosleep(&shortly, NULL) == 0);
    }
}

static pid_t start_sender(void) {
    const pid_t process = getpid(), child = fork();
    CHECK(child >= 0);
    if (child != 0) return child;
    for (int i = 0; i < TIMES; i++) {
        for (int kind = 0; kind < CALLS; kind++) end_call(process, kind);
    }
    _exit(0);
}

static long work(void) {
    struct sigaction action = {.sa_handler = on_signal};
    pthread_t waiting[CALLS], forker;
    int ends[2], status;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // allows to read our calls, where needed
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    CHECK(pipe(ends) == 0);
    quiet = ends[0];
    CHECK((epolled = epoll_create1(0)) >= 0);
    CHECK((semaphores = semget(IPC_PRIVATE, 1, 0600)) >= 0);
    CHECK((sleeper = fork()) >= 0);
    if (sleeper == 0) {
        CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        while (1) pause();
    }
    const pid_t sender = start_sender();
    atomic_store(&forking, 1);
    CHECK(pthread_create(&forker, NULL, fork_often, NULL) == 0);
    for (long i = 0; i < CALLS; i++) {
        CHECK(pthread_create(&waiting[i], NULL, wait_often, (void*)i) == 0);
    }
    CHECK(waitpid(sender, &status, 0) == sender && status == 0);
    for (int i = 0; i < CALLS; i++) CHECK(pthread_join(waiting[i], NULL) == 0);
    atomic_store(&forking, 0);
    CHECK(pthread_join(forker, NULL) == 0);
    CHECK(kill(sleeper, SIGKILL) == 0 && waitpid(sleeper, NULL, 0) == sleeper);
    CHECK(semctl(semaphores, 0, IPC_RMID) == 0 && close(epolled) == 0);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0 && munmap(shared, PAGE) == 0);
    return CALLS * TIMES;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
