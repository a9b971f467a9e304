// SPDX-License-Identifier: Apache-2.0
// A thread forks children that close a file, while others start and end commands with popen.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
    if (!(condition)) abort()

enum { COMMANDS = 3, FORKS = 400 };

static atomic_bool done;

static void* start_commands(void* unused) {
    while (!done) {
        FILE* words = popen("exec true", "r");
        CHECK(words != NULL && pclose(words) == 0);
    }
    return unused;
}

static void close_file_in_child(void) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        FILE* file = fopen("/dev/null", "r");
        CHECK(file != NULL && fclose(file) == 0);
        _exit(5);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
}

int main(void) {
    FILE* open = popen("exec cat", "w");
    CHECK(open != NULL);
    pthread_t commands[COMMANDS];
    for (int i = 0; i < COMMANDS; i++)
        CHECK(pthread_create(&commands[i], NULL, start_commands, NULL) == 0);
    for (int i = 0; i < FORKS; i++) close_file_in_child();
    done = 1;
    for (int i = 0; i < COMMANDS; i++) CHECK(pthread_join(commands[i], NULL) == 0);
    CHECK(pclose(open) == 0);
    puts("closed");
}
