// SPDX-License-Identifier: Apache-2.0
// Two threads that fault all the time, while the main thread starts children that share the memory
// until they execute a program. A handler repairs the page, so that the access is made again.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "rounds.h"

enum { CHILDREN = 2, FAULTS = 500, THREADS = 2 };

static _Thread_local char* guarded;
static _Thread_local int repaired;
static atomic_bool children_ended;

static void on_fault(int signal, siginfo_t* cause, void* context) {
    (void)signal;
    (void)context;
    if (cause->si_addr != guarded) _exit(2);
    repaired++;
    if (mprotect(guarded, PAGE, PROT_READ | PROT_WRITE) != 0) _exit(3);
}

static void* faults(void* unused) {
    (void)unused;
    guarded = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(guarded != MAP_FAILED);
    int made = 0;
    for (repaired = 0; made < FAULTS || !atomic_load(&children_ended); made++) {
        CHECK(mprotect(guarded, PAGE, PROT_NONE) == 0);
        *(volatile char*)guarded += 1;
    }
    CHECK(repaired == made);
    CHECK(*guarded == (char)made);
    CHECK(munmap(guarded, PAGE) == 0);
    return NULL;
}

static long children(void) {
    extern char** environ;
    char* words[] = {"true", NULL};
    int right = 0;
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = 0;
        int status = 0;
        CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) == 0);
        CHECK(waitpid(child, &status, 0) == child);
        right += status == 0;
    }
    return right;
}

static long work(void) {
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    atomic_store(&children_ended, false);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, faults, NULL) == 0);
    const long right = children();
    atomic_store(&children_ended, true);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return right;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
