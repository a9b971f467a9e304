// SPDX-License-Identifier: Apache-2.0
// waits: each thread waits in a system call of its own, for an event that does not come before
// SIGUSR1. A call that ends before is printed with its error. Then all threads that can be woken
// are woken, and their results are checked. Ends with status 42.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static atomic_int stopped, waiting, wrong;
static int ends[2];  // of a pipe: readable at the end
static int listener, messages, semaphores, empty[2];
static int word;
static const struct timespec long_time = {100000, 0};

static int call_read(void) {
    char byte;
    return (int)read(empty[0], &byte, 1) == 1;
}
static int call_poll(void) {
    struct pollfd wait = {ends[0], POLLIN, 0};
    return poll(&wait, 1, 100000000) == 1;
}
// All signals are blocked while it waits, and none after that.
static int call_ppoll(void) {
    struct pollfd wait = {ends[0], POLLIN, 0};
    sigset_t all;
    sigfillset(&all);
    return ppoll(&wait, 1, &long_time, &all) == 1;
}
static int call_select(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    return select(ends[0] + 1, &set, NULL, NULL, NULL) == 1;
}
static int epoll(void) {
    struct epoll_event event = {EPOLLIN, {0}};
    const int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
    return epoll;
}
static int call_epoll_wait(void) {
    struct epoll_event event;
    return epoll_wait(epoll(), &event, 1, -1) == 1;
}
static int call_epoll_pwait(void) {
    struct epoll_event event;
    sigset_t all;
    sigfillset(&all);
    return epoll_pwait(epoll(), &event, 1, -1, &all) == 1;
}
static int call_accept(void) {
    return accept(listener, NULL, NULL) >= 0;
}
static int call_futex(void) {
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &long_time, NULL, 0) == 0;
}
static int call_msgrcv(void) {
    struct {
        long type;
        char text[8];
    } message;
    return msgrcv(messages, &message, 8, 0, 0) == 8;
}
static int call_semop(void) {
    struct sembuf take = {0, -1, 0};
    return semop(semaphores, &take, 1) == 0;
}
static int call_nanosleep(void) {
    return nanosleep(&long_time, NULL) == 0;
}
static int call_pause(void) {
    return pause() == 0;
}
static int call_sigsuspend(void) {
    sigset_t all;
    sigfillset(&all);
    return sigsuspend(&all) == 0;
}

struct wait {
    const char* name;
    int (*call)(void);
    int wakes;
    pthread_t thread;
};
static struct wait waits[] = {
    {"read", call_read, 1, 0},
    {"poll", call_poll, 1, 0},
    {"ppoll", call_ppoll, 1, 0},
    {"select", call_select, 1, 0},
    {"epoll_wait", call_epoll_wait, 1, 0},
    {"epoll_pwait", call_epoll_pwait, 1, 0},
    {"accept", call_accept, 1, 0},
    {"futex", call_futex, 1, 0},
    {"msgrcv", call_msgrcv, 1, 0},
    {"semop", call_semop, 1, 0},
    {"nanosleep", call_nanosleep, 0, 0},
    {"pause", call_pause, 0, 0},
    {"sigsuspend", call_sigsuspend, 0, 0},
};
enum { WAITS = sizeof waits / sizeof *waits };
static atomic_int ids[WAITS];  // of the threads

static void complain(const char* name, const char* what) {
    printf("%s: %s\n", name, what);
    atomic_store(&wrong, 1);
}

static void* run(void* argument) {
    const struct wait* wait = argument;
    atomic_store(&ids[wait - waits], gettid());
    sigset_t before, after;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR1);
    sigaddset(&before, SIGUSR2);
    sigaddset(&before, SIGILL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_fetch_add(&waiting, 1);
    const int right = wait->call();
    const char* error = strerror(errno);
    if (!atomic_load(&stopped)) complain(wait->name, right ? "ended early" : error);
    if (!right) complain(wait->name, error);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < 32; ++number)
        if (sigismember(&before, number) != sigismember(&after, number))
            complain(wait->name, "other signals are blocked");
    return NULL;
}

static void stop(int number) {
    (void)number;
    atomic_store(&stopped, 1);
}

static void wake(void) {
    struct sockaddr_un address = {0};
    socklen_t length = sizeof address;
    struct {
        long type;
        char text[8];
    } message = {1, ""};
    struct sembuf give = {0, 1, 0};
    const int client = socket(AF_UNIX, SOCK_STREAM, 0);
    getsockname(listener, (struct sockaddr*)&address, &length);
    if (write(ends[1], "x", 1) != 1 || write(empty[1], "x", 1) != 1 ||
        connect(client, (struct sockaddr*)&address, length) != 0 ||
        msgsnd(messages, &message, 8, 0) != 0 || semop(semaphores, &give, 1) != 0)
        complain("main", strerror(errno));
    word = 1;
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

// Whether the kernel has put all threads to sleep, each in its call.
static int all_sleep(void) {
    for (int i = 0; i < WAITS; ++i) {
        char path[64], text[512];
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&ids[i]));
        FILE* file = fopen(path, "r");
        if (file == NULL) return 0;
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        const char* name_end = strrchr(text, ')');
        if (name_end == NULL || name_end[2] != 'S') return 0;
    }
    return 1;
}

int main(void) {
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    messages = msgget(IPC_PRIVATE, 0600);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    if (bind(listener, (const struct sockaddr*)&any, sizeof any.sun_family) != 0 ||
        listen(listener, 1) != 0 || pipe(ends) != 0 || pipe(empty) != 0 || messages < 0 ||
        semaphores < 0)
        return 1;
    signal(SIGUSR1, stop);
    sigset_t usual, blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &usual);
    for (int i = 0; i < WAITS; ++i) pthread_create(&waits[i].thread, NULL, run, &waits[i]);
    while (atomic_load(&waiting) < WAITS || !all_sleep()) usleep(1000);
    puts("ready");
    fflush(stdout);
    while (!atomic_load(&stopped)) sigsuspend(&usual);
    wake();
    for (int i = 0; i < WAITS; ++i)
        if (waits[i].wakes) pthread_join(waits[i].thread, NULL);
    msgctl(messages, IPC_RMID, NULL);
    semctl(semaphores, 0, IPC_RMID);
    if (!atomic_load(&wrong)) puts("right");
    return 42;
}
