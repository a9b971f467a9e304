// SPDX-License-Identifier: Apache-2.0
// A process that limits its address space: the limit that it reads back, calls that would exceed
// the limit, and programs that it executes.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "rounds.h"

static const size_t MIB = 1 << 20;
static char executable[4096];

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
    // Memory that replaces other memory does not count in addition.
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

static void ends_right(pid_t child) {
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == RIGHT);
}

// Becomes this program, directly or through another one.
static void execute(const char* through) {
    if (through == NULL) execl("/proc/self/exe", "address_limit", "executed", NULL);
    execl(through, "sh", "-c", "exec \"$0\" executed", executable, NULL);
    _exit(1);
}

static void executes(void) {
    pid_t child = fork();
    if (child == 0) execute(NULL);
    ends_right(child);
    child = fork();
    if (child == 0) execute("/bin/sh");
    ends_right(child);
}

// The limit of a child of vfork is its own.
static void executes_limited(const struct rlimit* limit) {
    const rlim_t own = soft_limit();
    const pid_t child = vfork();
    if (child == 0) {
        if (setrlimit(RLIMIT_AS, limit) != 0) _exit(1);
        execl(executable, "address_limit", "executed", NULL);
        _exit(1);
    }
    ends_right(child);
    CHECK(soft_limit() == own);
}

static long work(void) {
    struct rlimit before, kept;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    const struct rlimit limit = {800 * MIB, before.rlim_max};
    CHECK(prlimit(0, RLIMIT_AS, &limit, &kept) == 0);
    CHECK(kept.rlim_cur == before.rlim_cur && soft_limit() == limit.rlim_cur);
    stays_below();
    executes();
    // The same holds in a child.
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(soft_limit() == limit.rlim_cur);
        stays_below();
        as_user(&before);
        _exit(RIGHT);
    }
    ends_right(child);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0 && soft_limit() == before.rlim_cur);
    void* large = map(2000 * MIB, 0, NULL);
    CHECK(large != MAP_FAILED && munmap(large, 2000 * MIB) == 0);
    executes_limited(&limit);
    return (long)(limit.rlim_cur / MIB);
}

static int executed(void) {
    CHECK(soft_limit() == 800 * MIB);
    stays_below();
    return RIGHT;
}

int main(int count, char** words) {
    CHECK(readlink("/proc/self/exe", executable, sizeof executable - 1) > 0);
    if (count > 1 && strcmp(words[1], "executed") == 0) return executed();
    return rounds(count, work);
}
