// SPDX-License-Identifier: Apache-2.0
// Accesses to thread-local variables: an array of several pages, and variables of less than a page.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels.h"

enum { WORDS = PAGE / 8, PAGES = 8, ROOM = (PAGES + 1) * WORDS, FEW = 48, TIMES = 2000 };

static __thread double field[ROOM];
static __thread double corner[FEW];
__thread double left[16] = {1};
__thread int one, two;

static pthread_barrier_t both;

static void write_field(void) {
    const uintptr_t start = ((uintptr_t)field + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    write_strided((char*)start, PAGES * WORDS, 8);
}

static void use_small(void) {
    for (int i = 0; i < TIMES; ++i) {
        read_strided(corner, FEW, 8);
        write_strided(left, 16, 8);
    }
    one = two;
}

static void* run_thread(void* together) {
    if (together != NULL) pthread_barrier_wait(&both);
    write_field();
    use_small();
    if (together != NULL) pthread_barrier_wait(&both);
    return NULL;
}

static void run(int threads, int at_once) {
    pthread_t ids[2];
    for (int i = 0; i < threads; ++i) {
        if (pthread_create(&ids[i], NULL, run_thread, at_once ? &both : NULL) != 0) exit(1);
        if (!at_once) pthread_join(ids[i], NULL);
    }
    for (int i = 0; i < threads && at_once; ++i) pthread_join(ids[i], NULL);
}

int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    write_field();
    use_small();
    run(2, 1);
    run(2, 0);
    const pid_t child = fork();
    if (child == 0) {
        write_field();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}
