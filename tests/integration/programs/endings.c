// SPDX-License-Identifier: Apache-2.0
// Ways for a process to end. Each first writes WORDS words of `data` in main and WORDS words of
// `thread_data` in a second thread, then ends by MODE:
//   return exit _exit abort crash kill     by main, while the second thread sleeps
//   thread_exit                            by the second thread, while main sleeps
//   main_thread_ends                       main ends by pthread_exit; the second thread writes
//                                          WORDS more words and returns
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels.h"

enum { WORDS = 1024 };

char data[2 * PAGE] __attribute__((aligned(4096)));
char thread_data[2 * PAGE] __attribute__((aligned(4096)));

static const char* mode;
static pthread_barrier_t both_wrote;
static pthread_t main_thread;

static void* run(void* unused) {
    write_strided(thread_data, WORDS, 8);
    pthread_barrier_wait(&both_wrote);
    if (strcmp(mode, "thread_exit") == 0) exit(5);
    if (strcmp(mode, "main_thread_ends") == 0) {
        pthread_join(main_thread, NULL);
        write_strided(thread_data, WORDS, 8);
        return unused;
    }
    for (;;) pause();
}

int main(int argc, char** argv) {
    mode = argc > 1 ? argv[1] : "";
    main_thread = pthread_self();
    pthread_t thread;
    pthread_barrier_init(&both_wrote, NULL, 2);
    if (pthread_create(&thread, NULL, run, NULL) != 0) return 1;
    write_strided(data, WORDS, 8);
    pthread_barrier_wait(&both_wrote);

    if (strcmp(mode, "return") == 0) return 3;
    if (strcmp(mode, "exit") == 0) exit(4);
    if (strcmp(mode, "_exit") == 0) _exit(6);
    if (strcmp(mode, "abort") == 0) abort();
    if (strcmp(mode, "crash") == 0) write_strided(NULL, 1, 0);
    if (strcmp(mode, "kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(mode, "thread_exit") == 0) pthread_join(thread, NULL);
    if (strcmp(mode, "main_thread_ends") == 0) pthread_exit(NULL);
    fprintf(stderr, "usage: %s MODE\n", argv[0]);
    return 2;
}
