// SPDX-License-Identifier: Apache-2.0
// Threads wait in system calls with a time limit, while the process forks much more often than
// they wait. Each wait ends, and not early.
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "rounds.h"

enum { WAIT_MS = 150 };

static const struct timespec limit = {0, WAIT_MS * 1000000};
static atomic_int waiting;
static int quiet, epolled, semaphores;
static aio_context_t operations;

static void by_usleep(void) {
    CHECK(usleep(WAIT_MS * 1000) == 0);
}

static void by_nanosleep(void) {
    struct timespec left;
    CHECK(nanosleep(&limit, &left) == 0);
}

static void by_raw_nanosleep(void) {
    CHECK(syscall(SYS_nanosleep, &limit, NULL) == 0);
}

static void by_clock(void) {
    CHECK(clock_nanosleep(CLOCK_REALTIME, 0, &limit, NULL) == 0);
}

static void by_poll(void) {
    struct pollfd file = {quiet, POLLIN, 0};
    CHECK(poll(&file, 1, WAIT_MS) == 0);
}

static void by_ppoll(void) {
    struct pollfd file = {quiet, POLLIN, 0};
    CHECK(ppoll(&file, 1, &limit, NULL) == 0);
}

static void by_select(void) {
    struct timeval time = {0, WAIT_MS * 1000};
    fd_set files;
    FD_ZERO(&files);
    FD_SET(quiet, &files);
    CHECK(select(quiet + 1, &files, NULL, NULL, &time) == 0);
}

static void by_pselect(void) {
    sigset_t none;
    fd_set files;
    FD_ZERO(&files);
    FD_SET(quiet, &files);
    sigemptyset(&none);
    CHECK(pselect(quiet + 1, &files, NULL, NULL, &limit, &none) == 0);
}

static void by_epoll(void) {
    struct epoll_event event;
    CHECK(epoll_wait(epolled, &event, 1, WAIT_MS) == 0);
}

static void by_epoll_with_mask(void) {
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    CHECK(epoll_pwait(epolled, &event, 1, WAIT_MS, &none) == 0);
}

static void by_futex(void) {
    static int word;
    CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &limit) == -1 && errno == ETIMEDOUT);
}

static void by_condition(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec end;
    CHECK(clock_gettime(CLOCK_REALTIME, &end) == 0);
    end.tv_sec += (end.tv_nsec + limit.tv_nsec) / 1000000000;
    end.tv_nsec = (end.tv_nsec + limit.tv_nsec) % 1000000000;
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_cond_timedwait(&never, &mutex, &end) == ETIMEDOUT);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}

static void by_semaphore(void) {
    struct sembuf take = {0, -1, 0};
    CHECK(semtimedop(semaphores, &take, 1, &limit) == -1 && errno == EAGAIN);
}

static void by_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(sigtimedwait(&set, NULL, &limit) == -1 && errno == EAGAIN);
}

static void by_operations(void) {
    struct io_event event;
    if (operations != 0) {
        CHECK(syscall(SYS_io_getevents, operations, 1, 1, &event, &limit) == 0);
    }
}

static void (*const waits[])(void) = {
    by_usleep, by_nanosleep, by_raw_nanosleep, by_clock,  by_poll,
    by_ppoll,  by_select,    by_pselect,       by_epoll,  by_epoll_with_mask,
    by_futex,  by_condition, by_semaphore,     by_signal, by_operations};
enum { KINDS = sizeof waits / sizeof *waits };

static long now_us(void) {
    struct timespec time;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
    return time.tv_sec * 1000000L + time.tv_nsec / 1000;
}

static void* wait_once(void* kind) {
    void (*const wait)(void) = *(void (*const*)(void))kind;
    const long start = now_us();
    wait();
    CHECK((wait == by_operations && operations == 0) || now_us() - start >= WAIT_MS * 1000);
    atomic_fetch_sub(&waiting, 1);
    return NULL;
}

static long work(void) {
    pthread_t threads[KINDS];
    int ends[2];
    CHECK(pipe(ends) == 0);
    quiet = ends[0];
    CHECK((epolled = epoll_create1(0)) >= 0);
    CHECK((semaphores = semget(IPC_PRIVATE, 1, 0600)) >= 0);
    operations = 0;
    CHECK(syscall(SYS_io_setup, 1, &operations) == 0 || errno == ENOSYS || errno == EAGAIN);
    atomic_store(&waiting, KINDS);
    for (int i = 0; i < KINDS; i++) {
        CHECK(pthread_create(&threads[i], NULL, wait_once, (void*)&waits[i]) == 0);
    }
    while (atomic_load(&waiting) > 0) {
        const struct timespec shortly = {0, 2000000};
        int status;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(0);
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(nanosleep(&shortly, NULL) == 0);
    }
    for (int i = 0; i < KINDS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    if (operations != 0) CHECK(syscall(SYS_io_destroy, operations) == 0);
    CHECK(semctl(semaphores, 0, IPC_RMID) == 0 && close(epolled) == 0);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    return KINDS;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
