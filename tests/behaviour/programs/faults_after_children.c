// SPDX-License-Identifier: Apache-2.0
// First, children share the memory until they execute a program or end, like those of vfork and
// posix_spawn. Then there are faults all the time, whose handler jumps out of its own stack.
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "rounds.h"

enum { CHILDREN = 3, FAULTS = 2000, STACK = 16 * PAGE, STATUS = 5 };

static sigjmp_buf before_fault;
static char handler_stack[STACK];
static char child_stack[STACK];

static int child(void* value) {
    *(volatile int*)value += 1;
    return STATUS;
}

static void on_fault(int signal) {
    (void)signal;
    siglongjmp(before_fault, 1);
}

static long children(void) {
    int value = 0;
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        const pid_t made =
            clone(child, child_stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, &value);
        CHECK(made > 0);
        CHECK(waitpid(made, &status, 0) == made);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
    }
    return value;
}

static long faults(void) {
    volatile long count = 0;
    volatile char* page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    for (volatile int i = 0; i < FAULTS; i++) {
        if (sigsetjmp(before_fault, 1) == 0) {
            *page = 1;
            CHECK(0);
        }
        stack_t now;
        CHECK(sigaltstack(NULL, &now) == 0);
        CHECK(now.ss_sp == handler_stack && (now.ss_flags & SS_ONSTACK) == 0);
        count++;
    }
    CHECK(munmap((void*)page, PAGE) == 0);
    return count;
}

static long work(void) {
    const stack_t stack = {.ss_sp = handler_stack, .ss_size = STACK};
    const struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    return children() + faults();
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
