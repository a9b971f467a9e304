// SPDX-License-Identifier: Apache-2.0
// Handlers of a timer's signals map, move and release memory, and fork, while their thread does the
// same, allocates and frees. Some of them leave by siglongjmp.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "rounds.h"

enum { SIGNALS = 600, EACH_FORKS = 40, EACH_JUMPS = 3, DELAY_US = 60, BYTES = 64 * 1024 };

static volatile int handled;
static volatile sig_atomic_t may_jump;
static sigjmp_buf outside;

static char* map(size_t bytes) {
    char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    memory[0] = 3;
    return memory;
}

static void run_child(void) {
    int status;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char* memory = map(PAGE);
        _exit(memory[0]);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

// The next signal comes some time after the handler of this one.
static void start_timer(void) {
    const struct itimerval timer = {{0, 0}, {0, DELAY_US}};
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void on_signal(int signal) {
    const int error = errno;
    char* memory = mremap(map(3 * PAGE), 3 * PAGE, 5 * PAGE, MREMAP_MAYMOVE);
    (void)signal;
    CHECK(memory != MAP_FAILED && memory[0] == 3 && munmap(memory, 5 * PAGE) == 0);
    if (++handled % EACH_FORKS == 0) run_child();
    if (handled < SIGNALS) start_timer();
    errno = error;
    if (may_jump && handled % EACH_JUMPS == 0) siglongjmp(outside, 1);
}

static void map_and_release(void) {
    for (int i = 0; i < 20; i++) {
        char* memory = map(4 * PAGE);
        CHECK(munmap(memory, 2 * PAGE) == 0 && munmap(memory + 2 * PAGE, 2 * PAGE) == 0);
    }
}

static void allocate_and_free(int number) {
    char* block = malloc(BYTES + number % 7 * PAGE);
    CHECK(block != NULL);
    block[number % BYTES] = 1;
    block = realloc(block, 3 * BYTES);
    CHECK(block != NULL && block[number % BYTES] == 1);
    free(block);
}

static long work(void) {
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    handled = 0;
    start_timer();
    for (volatile int i = 0; handled < SIGNALS; i++) {
        allocate_and_free(i);
        if (sigsetjmp(outside, 1) == 0) {
            may_jump = 1;
            map_and_release();
        }
        may_jump = 0;
    }
    return SIGNALS;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
