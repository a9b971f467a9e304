// SPDX-License-Identifier: Apache-2.0
// A process forbids itself to read the time-stamp counter (PR_SET_TSC); its threads and children do
// the same. Meanwhile, it allocates memory, waits, and starts threads.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "rounds.h"

static __thread sigjmp_buf out;

static void leave(int signal) {
    (void)signal;
    siglongjmp(out, 1);
}

static int mode(void) {
    int mode = 0;
    CHECK(prctl(PR_GET_TSC, &mode) == 0);
    return mode;
}

static bool can_read_ticks(void) {
    if (sigsetjmp(out, 1) != 0) {
        return false;
    }
    __builtin_ia32_rdtsc();
    return true;
}

static void* use_memory(void* unused) {
    for (int i = 0; i < 20; ++i) {
        const size_t bytes = 1 << 20;
        char* block = malloc(bytes);
        char* mapped =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(block != NULL && mapped != MAP_FAILED);
        block[i] = mapped[i] = 1;
        CHECK(munmap(mapped, bytes) == 0);
        free(block);
        CHECK(poll(NULL, 0, 1) == 0);
        CHECK(!can_read_ticks() && mode() == PR_TSC_SIGSEGV);
    }
    return unused;
}

static long work(void) {
    const struct sigaction action = {.sa_handler = leave};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    CHECK(can_read_ticks() && mode() == PR_TSC_ENABLE);
    CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use_memory, NULL) == 0);
    use_memory(NULL);
    CHECK(pthread_join(thread, NULL) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        use_memory(NULL);
        _exit(can_read_ticks());
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(syscall(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE) == 0);
    CHECK(can_read_ticks());
    return 1000;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
