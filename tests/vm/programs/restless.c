// SPDX-License-Identifier: Apache-2.0
// restless: maps, unmaps, forks and executes all the time, and checks that nothing is lost, until
// SIGTERM comes.
//
// In each round, a new mapping is written, a child checks and changes its copy of it and of `kept`,
// this process checks that its own are as before, and unmaps. In every eighth round, the child
// executes this program with an argument, which then ends at once. Prints "ready", then a line
// after every 100 rounds, and at the end "N rounds" with status 0; ends with status 1 at the first
// word that is not what it was written as.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, MAPPED = 64, KEPT = 512, WORDS = PAGE / 8 };

static volatile sig_atomic_t ended;
static uint64_t kept[KEPT * WORDS];

static void fill(uint64_t* array, size_t pages, uint64_t seed) {
    for (size_t i = 0; i < pages * WORDS; i += 64) array[i] = i ^ seed;
}

static int is_as_filled(const uint64_t* array, size_t pages, uint64_t seed) {
    for (size_t i = 0; i < pages * WORDS; i += 64) {
        if (array[i] != (i ^ seed)) return 0;
    }
    return 1;
}

static int child(char** argv, uint64_t* mapped, uint64_t round) {
    if (!is_as_filled(mapped, MAPPED, round) || !is_as_filled(kept, KEPT, 7)) return 1;
    fill(mapped, MAPPED, ~round);
    fill(kept, KEPT / 8, 8);
    if (!is_as_filled(mapped, MAPPED, ~round)) return 1;
    if (round % 8 == 0) {
        execl("/proc/self/exe", argv[0], "0", NULL);
        return 1;
    }
    return 0;
}

static void end(int number) {
    ended = number;
}

int main(int argc, char** argv) {
    if (argc > 1) return 0;
    struct sigaction action = {.sa_handler = end, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &action, NULL);
    fill(kept, KEPT, 7);
    puts("ready");
    fflush(stdout);
    long round = 1;
    for (; !ended; round++) {
        uint64_t* mapped =
            mmap(NULL, MAPPED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return 2;
        fill(mapped, MAPPED, (uint64_t)round);
        const pid_t pid = fork();
        if (pid < 0) return 2;
        if (pid == 0) _exit(child(argv, mapped, (uint64_t)round));
        int status = 0;
        if (waitpid(pid, &status, 0) != pid || status != 0) return 1;
        if (!is_as_filled(mapped, MAPPED, (uint64_t)round)) return 1;
        if (!is_as_filled(kept, KEPT, 7)) return 1;
        munmap(mapped, MAPPED * PAGE);
        if (round % 100 == 0) {
            puts("100 more");
            fflush(stdout);
        }
    }
    printf("%ld rounds\n", round - 1);
    return 0;
}
