// SPDX-License-Identifier: Apache-2.0
//
// Runs until SIGUSR1, to be attached to. Memory that the program does not touch is registered with
// userfaultfd: a thread that touches it would wait for an answer that never comes. Prints "right"
// if nobody touched it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 16 * 4096 };

static volatile sig_atomic_t stopped;

static void stop(int number) {
    (void)number;
    stopped = 1;
}

static void* wait_for_end(void* unused) {
    (void)unused;
    while (!stopped) {
        usleep(1000);
    }
    return NULL;
}

int main(void) {
    int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (faults < 0) {
        faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    }
    struct uffdio_api api = {.api = UFFD_API};
    char* memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)memory, BYTES},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || memory == MAP_FAILED ||
        ioctl(faults, UFFDIO_REGISTER, &range) != 0) {
        perror("userfaultfd");
        return 1;
    }
    signal(SIGUSR1, stop);
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_end, NULL);
    puts("ready");
    fflush(stdout);
    pthread_join(thread, NULL);
    struct pollfd asked = {.fd = faults, .events = POLLIN};
    const int wrong = poll(&asked, 1, 0) != 0;
    puts(wrong ? "wrong" : "right");
    return wrong ? 1 : 42;
}
