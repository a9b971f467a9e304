// SPDX-License-Identifier: Apache-2.0
// Threads wait in system calls, for 2 ms at a time, while the process forks. No signal has a
// handler, so no call may end with EINTR.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "rounds.h"

enum { CHILDREN = 30, WAIT_NS = 2000000 };

static const struct timespec shortly = {0, WAIT_NS};
static atomic_int over;
static int quiet, epolled, semaphores, receiver;
static sem_t taken;

static struct timespec soon(clockid_t clock) {
    struct timespec time;
    CHECK(clock_gettime(clock, &time) == 0);
    time.tv_nsec += WAIT_NS;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

static void by_poll(void) {
    struct pollfd file = {quiet, POLLIN, 0};
    CHECK(poll(&file, 1, WAIT_NS / 1000000) == 0);
}

static void by_ppoll(void) {
    struct pollfd file = {quiet, POLLIN, 0};
    CHECK(ppoll(&file, 1, &shortly, NULL) == 0);
}

static void by_select(void) {
    struct timeval time = {0, WAIT_NS / 1000};
    fd_set files;
    FD_ZERO(&files);
    FD_SET(quiet, &files);
    CHECK(select(quiet + 1, &files, NULL, NULL, &time) == 0);
}

static void by_epoll(void) {
    struct epoll_event event;
    CHECK(epoll_wait(epolled, &event, 1, WAIT_NS / 1000000) == 0);
}

static void by_sleep(void) {
    CHECK(nanosleep(&shortly, NULL) == 0);
}

static void by_clock(void) {
    const struct timespec time = soon(CLOCK_MONOTONIC);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == 0);
}

static void by_futex(void) {
    const struct timespec time = soon(CLOCK_REALTIME);
    CHECK(sem_timedwait(&taken, &time) == -1 && errno == ETIMEDOUT);
}

static void by_semaphore(void) {
    struct sembuf take = {0, -1, 0};
    CHECK(semtimedop(semaphores, &take, 1, &shortly) == -1 && errno == EAGAIN);
}

static void by_receive(void) {
    char byte;
    CHECK(recv(receiver, &byte, 1, 0) == -1 && errno == EAGAIN);
}

static void by_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(sigtimedwait(&set, NULL, &shortly) == -1 && errno == EAGAIN);
}

static void (*const waits[])(void) = {by_poll,  by_ppoll, by_select,    by_epoll,   by_sleep,
                                      by_clock, by_futex, by_semaphore, by_receive, by_signal};
enum { KINDS = sizeof waits / sizeof *waits };

static void* wait_often(void* kind) {
    while (!atomic_load(&over)) (*(void (*const*)(void))kind)();
    return NULL;
}

static long work(void) {
    const struct timeval time = {0, WAIT_NS / 1000};
    pthread_t threads[KINDS];
    int ends[2], sockets[2];
    CHECK(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
    quiet = ends[0];
    receiver = sockets[0];
    CHECK(setsockopt(receiver, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0);
    CHECK((epolled = epoll_create1(0)) >= 0 && sem_init(&taken, 0, 0) == 0);
    CHECK((semaphores = semget(IPC_PRIVATE, 1, 0600)) >= 0);
    atomic_store(&over, 0);
    for (int i = 0; i < KINDS; i++) {
        CHECK(pthread_create(&threads[i], NULL, wait_often, (void*)&waits[i]) == 0);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(0);
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        by_sleep();
    }
    atomic_store(&over, 1);
    for (int i = 0; i < KINDS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(semctl(semaphores, 0, IPC_RMID) == 0 && sem_destroy(&taken) == 0);
    CHECK(close(epolled) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
    CHECK(close(sockets[0]) == 0 && close(sockets[1]) == 0);
    return KINDS;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
