// SPDX-License-Identifier: Apache-2.0
// A process that limits its address space: what it is told of the limit, and calls that would pass
// it.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "rounds.h"

static const size_t MIB = 1 << 20;

static void* map(size_t bytes, int flags, void* at) {
    return mmap(at, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

static rlim_t soft_limit(void) {
    struct rlimit limit, same;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(prlimit(getpid(), RLIMIT_AS, NULL, &same) == 0);
    CHECK(limit.rlim_cur == same.rlim_cur && limit.rlim_max == same.rlim_max);
    return limit.rlim_cur;
}

static void stays_below(void) {
    char* large = map(300 * MIB, 0, NULL);
    CHECK(large != MAP_FAILED);
    CHECK(map(600 * MIB, 0, NULL) == MAP_FAILED && errno == ENOMEM);
    CHECK(malloc(600 * MIB) == NULL && errno == ENOMEM);
    CHECK(sbrk((intptr_t)(600 * MIB)) == (void*)-1 && errno == ENOMEM);
    CHECK(mremap(large, 300 * MIB, 900 * MIB, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM);
    // In the place of other memory, nothing is added.
    CHECK(map(300 * MIB, MAP_FIXED, large) == large);
    const int segment = shmget(IPC_PRIVATE, 600 * MIB, IPC_CREAT | SHM_NORESERVE | 0600);
    CHECK(segment >= 0);
    CHECK(shmat(segment, NULL, 0) == (void*)-1 && errno == ENOMEM);
    CHECK(shmctl(segment, IPC_RMID, NULL) == 0);
    CHECK(munmap(large, 300 * MIB) == 0);
    large = map(600 * MIB, 0, NULL);
    CHECK(large != MAP_FAILED && munmap(large, 600 * MIB) == 0);
}

static void as_user(const struct rlimit* more) {
    CHECK(geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
    const struct rlimit less = {700 * MIB, 700 * MIB};
    CHECK(setrlimit(RLIMIT_AS, &less) == 0 && soft_limit() == 700 * MIB);
    CHECK(setrlimit(RLIMIT_AS, more) == -1 && errno == EPERM);
    const struct rlimit crossed = {700 * MIB, 600 * MIB};
    CHECK(setrlimit(RLIMIT_AS, &crossed) == -1 && errno == EINVAL);
}

static long work(void) {
    struct rlimit before, kept;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    const struct rlimit limit = {800 * MIB, before.rlim_max};
    CHECK(prlimit(0, RLIMIT_AS, &limit, &kept) == 0);
    CHECK(kept.rlim_cur == before.rlim_cur && soft_limit() == limit.rlim_cur);
    stays_below();
    // So it is in a child.
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(soft_limit() == limit.rlim_cur);
        stays_below();
        as_user(&before);
        _exit(RIGHT);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == RIGHT);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0 && soft_limit() == before.rlim_cur);
    void* large = map(2000 * MIB, 0, NULL);
    CHECK(large != MAP_FAILED && munmap(large, 2000 * MIB) == 0);
    return (long)(limit.rlim_cur / MIB);
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
