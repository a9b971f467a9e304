// SPDX-License-Identifier: Apache-2.0
// What the kernel reports about the alternate signal stack, in a handler and outside; when it
// refuses to change the stack; and stacks that are given up while a handler runs.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 2  // longjmp then asks whether it leaves a signal stack
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "rounds.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum { STACK = 64 * 1024, TIMES = 20, DEPTH = 3 };

static _Thread_local struct {
    char* stack;
    stack_t told;  // inside the handler
    int changed;   // by the handler: errno
    int deeper;    // signals that come inside the handler
    char* frames[DEPTH + 1];
    int leaves;
    jmp_buf back;
} seen;

static int tell(stack_t* told) {
    return (int)syscall(SYS_sigaltstack, NULL, told);
}

static int is_on_stack(const void* place) {
    return (const char*)place >= seen.stack && (const char*)place < seen.stack + STACK;
}

static void on_signal(int signal) {
    const stack_t other = {.ss_sp = seen.stack, .ss_size = STACK / 2};
    stack_t unchanged = {.ss_flags = 77};
    char here;
    if (seen.leaves) longjmp(seen.back, 1);
    CHECK(tell(&seen.told) == 0);
    if ((seen.told.ss_flags & SS_DISABLE) == 0) {
        seen.changed = syscall(SYS_sigaltstack, &other, &unchanged) == 0 ? 0 : errno;
        CHECK(seen.changed == 0 || unchanged.ss_flags == 77);
    }
    seen.frames[seen.deeper] = &here;
    if (seen.deeper-- > 0) CHECK(raise(signal) == 0);
    seen.deeper++;
}

static void use(int flags) {
    const stack_t stack = {.ss_sp = seen.stack, .ss_size = STACK, .ss_flags = flags};
    stack_t told;
    CHECK(syscall(SYS_sigaltstack, &stack, NULL) == 0 && tell(&told) == 0);
    CHECK(told.ss_sp == seen.stack && told.ss_size == STACK);
    CHECK((unsigned)told.ss_flags == ((unsigned)flags & SS_AUTODISARM));
}

static void check_kept(int flags) {
    use(flags);
    memset(&seen.told, 0, sizeof seen.told);
    seen.deeper = 0;
    CHECK(raise(SIGUSR2) == 0);
    CHECK(is_on_stack(seen.frames[0]) && seen.changed == EPERM);
    CHECK(seen.told.ss_sp == seen.stack && seen.told.ss_flags == SS_ONSTACK);
    seen.deeper = DEPTH;
    CHECK(raise(SIGUSR2) == 0);
    for (int i = 0; i < DEPTH; i++) CHECK(seen.frames[i] < seen.frames[i + 1]);
}

// The handler does not run on this stack. The kernel still reports it, and the handler can change
// it.
static void check_elsewhere(void) {
    use(0);
    CHECK(raise(SIGUSR1) == 0);
    CHECK(!is_on_stack(seen.frames[0]) && seen.changed == 0 && seen.told.ss_flags == 0);
}

// The next handler runs on the same stack, but below the frame of the one before.
static void check_given_up(void) {
    stack_t told;
    use((int)SS_AUTODISARM);
    seen.deeper = DEPTH;
    CHECK(raise(SIGUSR2) == 0);
    CHECK(seen.told.ss_sp == NULL && seen.told.ss_size == 0 && seen.told.ss_flags == SS_DISABLE);
    for (int i = 0; i < DEPTH; i++) CHECK(seen.frames[i] < seen.frames[i + 1]);
    CHECK(is_on_stack(seen.frames[0]) && tell(&told) == 0);
    CHECK(told.ss_sp == seen.stack && (unsigned)told.ss_flags == SS_AUTODISARM);
}

static void check_refused(void) {
    const stack_t small = {.ss_sp = seen.stack, .ss_size = 1024};
    const stack_t unknown = {.ss_sp = seen.stack, .ss_size = STACK, .ss_flags = 4};
    const stack_t none = {.ss_flags = SS_DISABLE};
    stack_t told = {.ss_flags = 77};
    CHECK(syscall(SYS_sigaltstack, &small, &told) < 0 && errno == ENOMEM && told.ss_flags == 77);
    CHECK(syscall(SYS_sigaltstack, &unknown, &told) < 0 && errno == EINVAL && told.ss_flags == 77);
    CHECK(syscall(SYS_sigaltstack, &none, NULL) == 0 && tell(&told) == 0);
    CHECK(told.ss_sp == NULL && told.ss_size == 0 && told.ss_flags == SS_DISABLE);
    CHECK(raise(SIGUSR2) == 0);
    CHECK(!is_on_stack(seen.frames[0]) && seen.told.ss_flags == SS_DISABLE);
}

static void check_left(void) {
    use(0);
    seen.leaves = 1;
    if (setjmp(seen.back) == 0) CHECK(raise(SIGUSR2) == 0);
    seen.leaves = 0;
}

static void* in_thread(void* stack) {
    seen.stack = stack;
    for (int i = 0; i < TIMES; i++) {
        check_kept(0);
        check_kept(SS_ONSTACK);
        check_elsewhere();
        check_given_up();
        check_left();
        seen.deeper = 0;
        check_refused();
    }
    return NULL;
}

static long work(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    pthread_attr_t attributes;
    pthread_t thread;
    char* memory =
        mmap(NULL, 4 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && sigaction(SIGUSR1, &action, NULL) == 0);
    action.sa_flags |= SA_ONSTACK;
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    // The thread's stack is below its signal stack.
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, memory + STACK, STACK) == 0);
    CHECK(pthread_create(&thread, &attributes, in_thread, memory + 2 * STACK) == 0);
    in_thread(memory);
    CHECK(pthread_join(thread, NULL) == 0 && pthread_attr_destroy(&attributes) == 0);
    CHECK(munmap(memory, 4 * STACK) == 0);
    return TIMES;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
