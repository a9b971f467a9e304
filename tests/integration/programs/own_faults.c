// SPDX-License-Identifier: Apache-2.0
// own_faults: until SIGUSR1, threads write to pages that they may not write to, which their handler
// of SIGSEGV allows, and count. One of them blocks all other signals, as threads of libraries do,
// and checks that they stay blocked. Prints "right" or the fault, and ends with status 42.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { THREADS = 3, PAGE = 4096 };

static atomic_int stopped;
static _Atomic(const char*) wrong;
static char* pages;
static atomic_long faults[THREADS];

static void allow(int number, siginfo_t* info, void* context) {
    const uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)pages;
    (void)number, (void)context;
    if (offset >= THREADS * PAGE) {
        static const char text[] = "a fault elsewhere\n";
        fwrite(text, 1, sizeof text - 1, stdout);
        fflush(stdout);
        _Exit(1);
    }
    atomic_fetch_add(&faults[offset / PAGE], 1);
    mprotect(pages + offset / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static void stop(int number) {
    (void)number;
    atomic_store(&stopped, 1);
}

static void* fault(void* argument) {
    const long thread = (long)argument;
    volatile char* page = pages + thread * PAGE;
    sigset_t mine, now;
    sigemptyset(&mine);
    if (thread == 1) {
        sigfillset(&mine);
        sigdelset(&mine, SIGSEGV);
        pthread_sigmask(SIG_SETMASK, &mine, NULL);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    for (long count = 1; !atomic_load(&stopped); ++count) {
        mprotect((void*)page, PAGE, PROT_READ);
        *page = (char)count;
        if (atomic_load(&faults[thread]) != count) atomic_store(&wrong, "a fault is missing");
        if (*page != (char)count) atomic_store(&wrong, "a write is missing");
        pthread_sigmask(SIG_SETMASK, NULL, &now);
        if (memcmp(&now, &mine, 8) != 0) atomic_store(&wrong, "other signals are blocked");
    }
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = allow, .sa_flags = SA_SIGINFO};
    pthread_t threads[THREADS];
    pages = mmap(NULL, THREADS * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGUSR1, stop);
    sigaction(SIGSEGV, &action, NULL);
    for (long t = 1; t < THREADS; ++t) pthread_create(&threads[t], NULL, fault, (void*)t);
    puts("ready");
    fflush(stdout);
    fault((void*)0);
    for (long t = 1; t < THREADS; ++t) pthread_join(threads[t], NULL);
    const char* what = atomic_load(&wrong);
    puts(what == NULL ? "right" : what);
    return 42;
}
