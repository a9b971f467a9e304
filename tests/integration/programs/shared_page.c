// SPDX-License-Identifier: Apache-2.0
// shared_page: until SIGUSR1, main runs in a page of code, and a thread calls the function at the
// start of this page. A timer sends the process a signal a thousand times a second. Its handler
// needs the thread-local storage of the program. Ends with status 42.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>

static atomic_int stopped, ticks;
static _Thread_local volatile int own_ticks;

// Both in one page, `first` at its start.
long first(long value);
void loop_near(atomic_int* until);
__asm__(
    ".text\n"
    ".balign 4096\n"
    ".type first, @function\n"
    "first: .rept 40; add $1, %rdi; .endr\n"
    "mov %rdi, %rax\n"
    "ret\n"
    ".size first, . - first\n"
    ".type loop_near, @function\n"
    "loop_near: cmpl $0, (%rdi)\n"
    "je loop_near\n"
    "ret\n"
    ".size loop_near, . - loop_near\n"
    ".balign 4096\n");

static void tick(int number) {
    (void)number;
    own_ticks += 1;
    atomic_fetch_add(&ticks, 1);
}

static void stop(int number) {
    (void)number;
    atomic_store(&stopped, 1);
}

static void* call_first(void* wrong) {
    while (!atomic_load(&stopped))
        if (first(2) != 42) *(int*)wrong = 1;
    return NULL;
}

int main(void) {
    int wrong = 0;
    pthread_t thread;
    sigset_t timer;
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    sigemptyset(&timer);
    sigaddset(&timer, SIGALRM);
    signal(SIGALRM, tick);
    signal(SIGUSR1, stop);
    pthread_sigmask(SIG_BLOCK, &timer, NULL);
    pthread_create(&thread, NULL, call_first, &wrong);
    pthread_sigmask(SIG_UNBLOCK, &timer, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    puts("ready");
    fflush(stdout);
    loop_near(&stopped);
    pthread_join(thread, NULL);
    puts(wrong || atomic_load(&ticks) == 0 ? "wrong" : "right");
    return 42;
}
