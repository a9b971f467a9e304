// SPDX-License-Identifier: Apache-2.0
// Signal handlers that access memory:
//   by_raise     a plain handler, 10 times
//   by_thread    a handler with siginfo on an alternate stack, sent to the own thread, 10 times
//   by_timer     an interval timer that interrupts a counting loop; the handler stores once for
//                each signal. Prints as JSON how many signals came.
//   after_fault  the handler of a fault, left by siglongjmp, 5 times; the faulting load is not
//                counted in any structure of the program
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "kernels.h"

enum { WORDS = 512, TIMER_SIGNALS = 20 };

char by_raise[PAGE] __attribute__((aligned(4096)));
char by_thread[PAGE] __attribute__((aligned(4096)));
char by_timer[PAGE] __attribute__((aligned(4096)));
char interrupted[PAGE] __attribute__((aligned(4096)));
char after_fault[PAGE] __attribute__((aligned(4096)));

static char alternate_stack[64 * 1024];
static volatile sig_atomic_t timer_signals;
static sigjmp_buf before_fault;

static void on_raise(int signal) {
    (void)signal;
    write_strided(by_raise, WORDS, 8);
}

static void on_thread(int signal, siginfo_t* info, void* context) {
    (void)signal, (void)info, (void)context;
    write_strided(by_thread, WORDS, 8);
}

static void on_timer(int signal) {
    (void)signal;
    write_strided(by_timer, 1, 8);
    timer_signals++;
}

static void on_fault(int signal) {
    (void)signal;
    write_strided(after_fault, WORDS, 8);
    siglongjmp(before_fault, 1);
}

static void install(int signal, struct sigaction action) {
    if (sigaction(signal, &action, NULL) != 0) exit(1);
}

static long interrupt_a_loop(void) {
    struct itimerval every_millisecond = {{0, 1000}, {0, 1000}}, never = {0};
    long rounds = 0;
    setitimer(ITIMER_REAL, &every_millisecond, NULL);
    for (; timer_signals < TIMER_SIGNALS; rounds++) read_strided(interrupted, WORDS, 8);
    setitimer(ITIMER_REAL, &never, NULL);
    return rounds;
}

int main(void) {
    stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
    sigaltstack(&stack, NULL);
    install(SIGUSR1, (struct sigaction){.sa_handler = on_raise});
    install(SIGUSR2,
            (struct sigaction){.sa_sigaction = on_thread, .sa_flags = SA_SIGINFO | SA_ONSTACK});
    install(SIGALRM, (struct sigaction){.sa_handler = on_timer});
    install(SIGSEGV, (struct sigaction){.sa_handler = on_fault, .sa_flags = SA_NODEFER});
    for (int i = 0; i < 10; i++) {
        raise(SIGUSR1);
        pthread_kill(pthread_self(), SIGUSR2);
    }
    for (volatile int i = 0; i < 5; i++)
        if (sigsetjmp(before_fault, 1) == 0) read_strided(NULL, 1, 0);
    long rounds = interrupt_a_loop();
    printf("{\"timer_signals\": %d, \"rounds\": %ld, \"words\": %d}\n", (int)timer_signals, rounds,
           WORDS);
    return 0;
}
