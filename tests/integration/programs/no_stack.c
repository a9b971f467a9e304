// SPDX-License-Identifier: Apache-2.0
// Main's stack pointer has no valid address until there is input, as in code that uses it like any
// other register. Main blocks signals meanwhile, and has a handler of SIGSEGV. At the end, the
// registers and the handler must be as before: exit status 42.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static volatile int input;

static void* wait_for_input(void* nothing) {
    char byte;
    if (read(0, &byte, 1) == 1) input = 1;
    return nothing;
}

static void handle(int signal) {
    (void)signal;
    _exit(1);
}

// Returns the sum of registers that nothing changes. A recorder that wants to leave nearly always
// interrupts the thread where its registers cannot be translated.
static uint64_t without_stack(void) {
    uint64_t sum = 0;
    __asm__ volatile(
        "mov %%rsp, %%r15\n\tmov $8, %%esp\n\t"
        "mov $1, %%ebx\n\tmov $2, %%ecx\n\tmov $3, %%edx\n\tmov $4, %%r8d\n\t"
        "1: pause\n\tcmpl $0, %[input]\n\tje 1b\n\t"
        "lea (%%rsp, %%rbx), %[sum]\n\tadd %%rcx, %[sum]\n\tadd %%rdx, %[sum]\n\t"
        "add %%r8, %[sum]\n\tmov %%r15, %%rsp"
        : [sum] "=a"(sum)
        : [input] "m"(input)
        : "rbx", "rcx", "rdx", "r8", "r15", "cc", "memory");
    return sum;
}

int main(void) {
    pthread_t thread;
    sigset_t blocked, now;
    struct sigaction action = {.sa_handler = handle};
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGSEGV);
    sigaddset(&blocked, SIGTRAP);
    sigaddset(&blocked, SIGUSR2);
    if (sigaction(SIGSEGV, &action, NULL) != 0) return 2;
    if (pthread_create(&thread, NULL, wait_for_input, NULL) != 0) return 2;
    if (pthread_sigmask(SIG_SETMASK, &blocked, NULL) != 0) return 2;
    puts("ready");
    fflush(stdout);
    if (without_stack() != 8 + 1 + 2 + 3 + 4) return 3;
    if (pthread_sigmask(SIG_SETMASK, NULL, &now) != 0) return 2;
    for (int signal = 1; signal < 32; ++signal)
        if (sigismember(&now, signal) != sigismember(&blocked, signal)) return 4;
    if (sigaction(SIGSEGV, NULL, &action) != 0 || action.sa_handler != handle) return 5;
    pthread_join(thread, NULL);
    return 42;
}
