// SPDX-License-Identifier: Apache-2.0
// Processes count together in a shared file in memory, and in a segment of System V.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "rounds.h"

enum { CHILDREN = 3, TIMES = 5000, WORDS = 1000, BYTES = 2 * PAGE };

static long count_together(long* words) {
    pid_t children[CHILDREN];
    long sum = 0;
    for (int child = 0; child < CHILDREN; child++) {
        children[child] = fork();
        CHECK(children[child] >= 0);
        if (children[child] == 0) {
            for (int i = 0; i < TIMES; i++)
                __atomic_add_fetch(&words[i % WORDS], 1, __ATOMIC_SEQ_CST);
            _exit(0);
        }
    }
    for (int child = 0; child < CHILDREN; child++) {
        int status;
        CHECK(waitpid(children[child], &status, 0) == children[child] && status == 0);
    }
    for (int i = 0; i < WORDS; i++) sum += words[i];
    return sum;
}

static long work(void) {
    const int file = memfd_create("shared", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, BYTES) == 0);
    long* in_file = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(in_file != MAP_FAILED && close(file) == 0);

    const int segment = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600);
    CHECK(segment >= 0);
    long* in_segment = shmat(segment, NULL, 0);
    CHECK(shmctl(segment, IPC_RMID, NULL) == 0);
    CHECK(in_segment != (void*)-1);

    const long sum = count_together(in_file) + count_together(in_segment);
    CHECK(munmap(in_file, BYTES) == 0 && shmdt(in_segment) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
