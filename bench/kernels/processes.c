// SPDX-License-Identifier: Apache-2.0
// Starts COUNT threads, forked processes, or processes that execute this program, AT_ONCE at a
// time. Each writes a page of its stack.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_AT_ONCE = 2048, WORDS = 512 };

static void* work(void* argument) {
    volatile long words[WORDS];
    for (int i = 0; i < WORDS; i++) words[i] = i;
    return words[WORDS - 1] == 0 ? NULL : argument;
}

static int threads(long at_once) {
    static pthread_t handles[MAX_AT_ONCE];
    for (long i = 0; i < at_once; i++)
        if (pthread_create(&handles[i], NULL, work, NULL) != 0) return 1;
    for (long i = 0; i < at_once; i++) pthread_join(handles[i], NULL);
    return 0;
}

static int processes(const char* self, long at_once, int execute) {
    for (long i = 0; i < at_once; i++) {
        pid_t child = fork();
        if (child < 0) return 1;
        if (child == 0) {
            if (execute) {
                execl(self, self, "work", "1", "1", (char*)NULL);
                _exit(127);
            }
            work(NULL);
            _exit(0);
        }
    }
    int failed = 0;
    for (long i = 0; i < at_once; i++) {
        int status = 1;
        failed |= wait(&status) < 0 || status != 0;
    }
    return failed;
}

int main(int argc, char** argv) {
    long count = argc == 4 ? atol(argv[2]) : 0;
    long at_once = argc == 4 ? atol(argv[3]) : 0;
    if (count < 1 || at_once < 1 || at_once > MAX_AT_ONCE || count % at_once != 0) {
        fprintf(stderr, "usage: %s threads|forks|executed|work COUNT AT_ONCE\n", argv[0]);
        return 2;
    }
    int failed = 0;
    for (long begun = 0; begun < count && !failed; begun += at_once) {
        if (strcmp(argv[1], "threads") == 0)
            failed = threads(at_once);
        else if (strcmp(argv[1], "work") == 0)
            work(NULL);
        else
            failed = processes(argv[0], at_once, strcmp(argv[1], "executed") == 0);
    }
    return failed;
}
