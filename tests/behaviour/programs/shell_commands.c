// SPDX-License-Identifier: Apache-2.0
// Threads start shells at the same time, with system and with popen, while others read the
// environment and fork.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "rounds.h"

enum { TIMES = 2, SHELLS = 3, FORKS = 25 };

static int status_of(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void run_shells(void) {
    CHECK(system("exit 4") == 4 << 8);
    FILE* reads = popen("test -z \"$LD_PRELOAD\" && echo some words", "r");
    char line[80];
    CHECK(reads != NULL && fgets(line, sizeof line, reads) != NULL);
    CHECK(strcmp(line, "some words\n") == 0 && pclose(reads) == 0);
    FILE* writes = popen("read word && exit $word", "we");
    CHECK(writes != NULL && fputs("9\n", writes) > 0 && pclose(writes) == 9 << 8);
}

static void* start_shells(void* unused) {
    for (int i = 0; i < TIMES; i++) run_shells();
    return unused;
}

// Each variable has a name and a value, also in a child.
static void read_environment(void) {
    for (char** each = environ; *each != NULL; each++) CHECK(strchr(*each, '=') > *each);
    CHECK(getenv("PATH") != NULL && getenv("LD_PRELOAD") == NULL);
}

static void* fork_often(void* unused) {
    for (int i = 0; i < FORKS; i++) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            read_environment();
            _exit(5);
        }
        CHECK(status_of(child) == 5);
        read_environment();
    }
    return unused;
}

static long work(void) {
    pthread_t shells[SHELLS], forks;
    for (int i = 0; i < SHELLS; i++)
        CHECK(pthread_create(&shells[i], NULL, start_shells, NULL) == 0);
    CHECK(pthread_create(&forks, NULL, fork_often, NULL) == 0);
    for (int i = 0; i < SHELLS; i++) CHECK(pthread_join(shells[i], NULL) == 0);
    CHECK(pthread_join(forks, NULL) == 0);
    struct sigaction action;
    CHECK(sigaction(SIGINT, NULL, &action) == 0);
    CHECK(popen("true", "rw") == NULL && errno == EINVAL && system(NULL) != 0);
    return TIMES * SHELLS + (action.sa_handler == SIG_IGN);
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
