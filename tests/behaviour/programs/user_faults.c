// SPDX-License-Identifier: Apache-2.0
// A thread of the program answers the page faults of another one (userfaultfd).
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "rounds.h"

enum { PAGES = 32 };

static char content[PAGE] __attribute__((aligned(4096)));

static void* answer(void* descriptor) {
    const int faults = *(int*)descriptor;
    for (int answered = 0; answered < PAGES; answered++) {
        struct uffd_msg message;
        CHECK(read(faults, &message, sizeof message) == sizeof message);
        CHECK(message.event == UFFD_EVENT_PAGEFAULT);
        memset(content, answered + 1, PAGE);
        struct uffdio_copy copy = {.dst = message.arg.pagefault.address & ~(uint64_t)(PAGE - 1),
                                   .src = (uintptr_t)content,
                                   .len = PAGE};
        CHECK(ioctl(faults, UFFDIO_COPY, &copy) == 0);
    }
    return NULL;
}

// Privileged users may see the kernel's own faults, too.
static int open_faults(void) {
    const int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    return descriptor >= 0 ? descriptor
                           : (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
}

static long work(void) {
    pthread_t thread;
    struct uffdio_api api = {.api = UFFD_API};
    int faults = open_faults();
    CHECK(faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0);

    char* pages =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    struct uffdio_register range = {.range = {(uintptr_t)pages, PAGES * PAGE},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    CHECK(ioctl(faults, UFFDIO_REGISTER, &range) == 0);
    CHECK(pthread_create(&thread, NULL, answer, &faults) == 0);
    long sum = 0;
    for (int page = 0; page < PAGES; page++) {
        CHECK(pages[page * PAGE + 17] == page + 1);
        sum += pages[page * PAGE + 17];
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(munmap(pages, PAGES * PAGE) == 0 && close(faults) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
