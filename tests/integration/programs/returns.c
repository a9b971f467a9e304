// SPDX-License-Identifier: Apache-2.0
// returns: until SIGUSR1, threads only call a function, and check its result in rax and the value
// that it keeps in rcx. Ends with status 42.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 6 };

static atomic_int stopped;

// Counts rounds in which both were right, up to `rounds`.
long call_and_compare(long rounds);
__asm__(
    ".text\n"
    ".type call_and_compare, @function\n"
    "call_and_compare: xor %edx, %edx\n"
    "1: lea 3(%rdx), %rcx\n"
    "call next_number\n"
    "sub $2, %rcx\n"
    "cmp %rcx, %rax\n"
    "jne 2f\n"
    "inc %rdx\n"
    "cmp %rax, %rdx\n"
    "jne 2f\n"
    "cmp %rdi, %rdx\n"
    "jne 1b\n"
    "2: mov %rdx, %rax\n"
    "ret\n"
    ".size call_and_compare, . - call_and_compare\n"
    ".type next_number, @function\n"
    "next_number: lea 1(%rdx), %rax\n"
    "ret\n"
    ".size next_number, . - next_number\n");

static void stop(int number) {
    (void)number;
    atomic_store(&stopped, 1);
}

static void* compare(void* wrong) {
    while (!atomic_load(&stopped))
        if (call_and_compare(10000) != 10000) *(int*)wrong = 1;
    return NULL;
}

int main(void) {
    int wrong = 0;
    pthread_t threads[THREADS];
    signal(SIGUSR1, stop);
    for (int t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, compare, &wrong);
    puts("ready");
    fflush(stdout);
    for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
    puts(wrong ? "wrong" : "right");
    return 42;
}
