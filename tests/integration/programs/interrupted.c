// SPDX-License-Identifier: Apache-2.0
// Signal handlers that count, and code that they interrupt. Prints "right" if all is as the kernel
// promises. Modes:
//   touch   a timer's handler writes PART new pages at a time, while main writes to PAGES others
//   jump    the handler leaves by siglongjmp, until main has written to PAGES pages JUMPS times
//   values  signals queued by another thread carry numbers, while main touches new pages
//   bursts  the same, several at a time on main's own CPU: the kernel keeps their order
//   once    a one-shot handler (SA_RESETHAND), while main touches new pages
//   seen    the program reads back the handlers that it has set
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 20000, PART = 16, JUMPS = 20, VALUES = 2000, BURST = 4 };

static volatile char *outer, *inner;
static volatile long inner_pages, signals, sum, last = -1;
static volatile int ordered = 1, in_bursts;
static sigjmp_buf back;

static volatile char* pages(void) {
    return mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void every_us(int us) {
    struct itimerval timer = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void handle(int number, void (*handler)(int, siginfo_t*, void*), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(number, &action, NULL);
}

static void touch_inner(int number) {
    (void)number;
    for (int i = 0; i < PART && inner_pages < PAGES; i++) inner[inner_pages++ * PAGE] = 1;
    signals++;
}

static int touch(void) {
    inner = pages();
    signal(SIGALRM, touch_inner);
    every_us(100);
    for (long i = 0; i < PAGES; i++) outer[i * PAGE] = 1;
    while (inner_pages < PAGES) pause();
    every_us(0);
    return signals >= PAGES / PART;
}

static void jump_back(int number, siginfo_t* info, void* context) {
    (void)number, (void)info, (void)context;
    signals++;
    siglongjmp(back, 1);
}

static int jump(void) {
    static volatile long page, round;
    handle(SIGALRM, jump_back, 0);
    every_us(200);
    sigsetjmp(back, 1);
    for (; round < JUMPS || signals < JUMPS; round++, page = 0) {
        for (; page < PAGES; page++) outer[page * PAGE] = 1;
        madvise((void*)outer, (size_t)PAGES * PAGE, MADV_DONTNEED);
    }
    every_us(0);
    return 1;
}

static void add_value(int number, siginfo_t* info, void* context) {
    (void)number, (void)context;
    ordered = ordered && info->si_code == SI_QUEUE && info->si_value.sival_int > last;
    last = info->si_value.sival_int;
    sum += last;
    signals++;
}

static void* send_values(void* to) {
    for (int i = 0; i < VALUES; i++) {
        union sigval value = {.sival_int = i};
        while (pthread_sigqueue(*(pthread_t*)to, SIGRTMIN + 1, value) != 0) usleep(100);
        if (in_bursts && i % BURST == BURST - 1) usleep(50);
    }
    return NULL;
}

static int values(void) {
    pthread_t sender, self = pthread_self();
    handle(SIGRTMIN + 1, add_value, SA_RESTART);
    pthread_create(&sender, NULL, send_values, &self);
    for (long i = 0; signals < VALUES; i = (i + 1) % PAGES) {
        outer[i * PAGE] = 1;
        if (i == PAGES - 1) madvise((void*)outer, (size_t)PAGES * PAGE, MADV_DONTNEED);
    }
    pthread_join(sender, NULL);
    return ordered && sum == (long)VALUES * (VALUES - 1) / 2;
}

static int bursts(void) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    in_bursts = 1;
    return values();
}

static void count_once(int number, siginfo_t* info, void* context) {
    (void)info, (void)context;
    struct sigaction now;
    sigaction(number, NULL, &now);
    ordered = ordered && now.sa_handler == SIG_DFL;
    signals++;
}

static void* send_to_main(void* to) {
    for (int i = 0; i < 500; i++) {
        const long before = signals;
        handle(SIGUSR1, count_once, SA_RESETHAND);
        pthread_kill(*(pthread_t*)to, SIGUSR1);
        while (signals == before) usleep(10);
    }
    return NULL;
}

static int once(void) {
    pthread_t sender, self = pthread_self();
    pthread_create(&sender, NULL, send_to_main, &self);
    for (long i = 0; signals < 500; i = (i + 1) % PAGES) {
        outer[i * PAGE] = 1;
        if (i == PAGES - 1) madvise((void*)outer, (size_t)PAGES * PAGE, MADV_DONTNEED);
    }
    pthread_join(sender, NULL);
    return ordered;
}

static int seen(void) {
    struct sigaction was;
    int right = signal(SIGUSR1, touch_inner) == SIG_DFL;
    right = right && signal(SIGUSR1, SIG_IGN) == touch_inner;
    right = right && signal(SIGUSR1, SIG_DFL) == SIG_IGN;
    handle(SIGUSR2, add_value, SA_NODEFER);
    right = right && sigaction(SIGUSR2, NULL, &was) == 0 && was.sa_sigaction == add_value;
    right = right && (was.sa_flags & (SA_SIGINFO | SA_NODEFER)) == (SA_SIGINFO | SA_NODEFER);
    signal(SIGHUP, touch_inner);
    right = right && sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler == touch_inner;
    return right && (was.sa_flags & (SA_SIGINFO | SA_RESTART)) == SA_RESTART;
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    int right = 0;
    outer = pages();
    if (strcmp(mode, "touch") == 0) right = touch();
    if (strcmp(mode, "jump") == 0) right = jump();
    if (strcmp(mode, "values") == 0) right = values();
    if (strcmp(mode, "bursts") == 0) right = bursts();
    if (strcmp(mode, "once") == 0) right = once();
    if (strcmp(mode, "seen") == 0) right = seen();
    puts(right ? "right" : "wrong");
    return right ? 7 : 1;
}
