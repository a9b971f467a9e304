// SPDX-License-Identifier: Apache-2.0
// Until munlockall, mlockall fills and locks existing memory and memory that is mapped later.
// Memory can also be locked when it is touched. Some calls are not permitted.
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "rounds.h"

enum { PAGES = 64, LARGEST_KB = 2 << 20 };

static char* mapped(int protection) {
    void* start =
        mmap(NULL, PAGES * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(start != MAP_FAILED);
    return start;
}

static int pages_there(void* start) {
    unsigned char pages[PAGES];
    int there = 0;
    CHECK(mincore(start, PAGES * PAGE, pages) == 0);
    for (int i = 0; i < PAGES; i++) there += pages[i] & 1;
    return there;
}

// In KiB, by its name in /proc/self/status.
static long own_kb(const char* name) {
    char text[8192];
    FILE* status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    long found = -1;
    while (found < 0 && fgets(text, sizeof text, status) != NULL)
        if (strncmp(text, name, strlen(name)) == 0) found = atol(text + strlen(name));
    CHECK(fclose(status) == 0 && found >= 0);
    return found;
}

static void unmap(char* start) {
    CHECK(munmap(start, PAGES * PAGE) == 0);
}

static void may_not(void) {
    const struct rlimit none = {0, 0}, some = {PAGE, PAGE};
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(setrlimit(RLIMIT_MEMLOCK, &some) == 0);
        CHECK(geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
        CHECK(mlockall(MCL_CURRENT) == -1 && errno == ENOMEM);
        CHECK(setrlimit(RLIMIT_MEMLOCK, &none) == 0);
        CHECK(mlockall(MCL_CURRENT) == -1 && errno == EPERM);
        CHECK(mlockall(MCL_FUTURE) == -1 && errno == EPERM);
        _exit(RIGHT);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == RIGHT);
}

static long work(void) {
    char* before = mapped(PROT_READ | PROT_WRITE);
    CHECK(pages_there(before) == 0);
    CHECK(mlockall(0) == -1 && errno == EINVAL);
    CHECK(mlockall(4) == -1 && errno == EINVAL);
    CHECK(mlockall(8 | MCL_CURRENT) == -1 && errno == EINVAL);

    CHECK(mlockall(MCL_CURRENT) == 0);
    CHECK(pages_there(before) == PAGES);
    CHECK(own_kb("VmLck:") >= PAGES * PAGE / 1024 && own_kb("VmRSS:") < LARGEST_KB);
    char* between = mapped(PROT_READ | PROT_WRITE);
    CHECK(pages_there(between) == 0);

    CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    CHECK(pages_there(between) == PAGES && own_kb("VmRSS:") < LARGEST_KB);
    char* after = mapped(PROT_READ | PROT_WRITE);
    CHECK(pages_there(after) == PAGES);
    char* hidden = mapped(PROT_NONE);
    CHECK(pages_there(hidden) == 0);
    CHECK(mprotect(hidden, PAGES * PAGE, PROT_READ | PROT_WRITE) == 0);
    CHECK(pages_there(hidden) == PAGES);
    // The child's memory is not locked.
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char* own = mapped(PROT_READ | PROT_WRITE);
        CHECK(own_kb("VmLck:") == 0 && pages_there(own) == 0);
        _exit(RIGHT);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == RIGHT);

    CHECK(munlockall() == 0);
    CHECK(own_kb("VmLck:") == 0);
    char* free = mapped(PROT_READ | PROT_WRITE);
    CHECK(pages_there(free) == 0);
    CHECK(mlockall(MCL_CURRENT | MCL_FUTURE | 4) == 0);  // MCL_ONFAULT
    char* touched = mapped(PROT_READ | PROT_WRITE);
    CHECK(pages_there(touched) == 0 && pages_there(free) == 0);
    touched[0] = 1;
    CHECK(pages_there(touched) == 1);
    CHECK(munlockall() == 0);

    may_not();
    char* all[] = {before, between, after, hidden, free, touched};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) unmap(all[i]);
    return PAGES;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
