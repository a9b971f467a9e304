// SPDX-License-Identifier: Apache-2.0
// Makes system calls that change memory, each on arrays of its own. All have PAGES pages, whose
// accesses are known. Prints "as expected" if every call did its task.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "kernels.h"

enum { PAGES = 16, BYTES = PAGES * PAGE, WORDS = BYTES / 8 };

#define CHECK(condition)                                    \
    if (!(condition)) {                                     \
        printf("wrong in line %d (%d)\n", __LINE__, errno); \
        exit(1);                                            \
    }

#define NEW_MAPPING() mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
// Another mapping gets the addresses of a mapping immediately.
#define MAPPING_AT(address) \
    mmap(address, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)

static void* kept_by_unmap;
static void* kept_by_remap;
static void* kept_by_fixed;

// Calls that fail, between two loops over the same mapping.
static void fail(void) {
    kept_by_unmap = NEW_MAPPING();
    write_strided(kept_by_unmap, WORDS, 8);
    CHECK(munmap((char*)kept_by_unmap + 1, BYTES) != 0);
    read_strided(kept_by_unmap, WORDS, 8);

    void* space = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    kept_by_remap = MAPPING_AT(space);
    write_strided(kept_by_remap, WORDS, 8);
    CHECK(mremap(kept_by_remap, BYTES, 2 * BYTES, 0) == MAP_FAILED);
    CHECK(mremap(kept_by_remap, BYTES, (size_t)1 << 62, MREMAP_MAYMOVE) == MAP_FAILED);
    read_strided(kept_by_remap, WORDS, 8);

    kept_by_fixed = NEW_MAPPING();
    write_strided(kept_by_fixed, WORDS, 8);
    CHECK(mmap(kept_by_fixed, BYTES, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED);
    read_strided(kept_by_fixed, WORDS, 8);
}

static void* moved;
static void* instead_of_moved;
static void* emptied;
static void* doubled;
static void* longer;
static void* shorter;
static void* after_shorter;

static void remap(void) {
    moved = NEW_MAPPING();
    char* before = moved;
    write_strided(moved, WORDS, 8);
    void* target = NEW_MAPPING();
    CHECK(mremap(before, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
    moved = target;
    instead_of_moved = MAPPING_AT(before);
    CHECK(instead_of_moved == before);
    add_strided(instead_of_moved, WORDS, 8);
    read_strided(moved, WORDS, 8);

    emptied = NEW_MAPPING();
    write_strided(emptied, WORDS, 8);
    target = NEW_MAPPING();
    const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | 4 /* MREMAP_DONTUNMAP */;
    CHECK(mremap(emptied, BYTES, BYTES, flags, target) == target);
    write_strided(emptied, WORDS, 8);
    read_strided(target, WORDS, 8);

    doubled = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    write_strided(doubled, WORDS, 8);
    char* twin = mremap(doubled, 0, BYTES, MREMAP_MAYMOVE);
    CHECK(twin != MAP_FAILED && twin != doubled);
    read_strided(twin, WORDS, 8);

    void* space = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    longer = MAPPING_AT(space);
    CHECK(munmap((char*)space + BYTES, BYTES) == 0);
    CHECK(mremap(longer, BYTES, 2 * BYTES, 0) == longer);
    write_strided(longer, 2 * WORDS, 8);

    shorter = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    write_strided(shorter, 2 * WORDS, 8);
    CHECK(mremap(shorter, 2 * BYTES, BYTES, 0) == shorter);
    after_shorter = MAPPING_AT((char*)shorter + BYTES);
    read_strided(after_shorter, WORDS, 8);
    read_strided(shorter, WORDS, 8);
}

static void* segment;
static void* instead_of_segment;

static void share(void) {
    const int id = shmget(IPC_PRIVATE, BYTES, 0600 | IPC_CREAT);
    CHECK(id >= 0);
    segment = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    CHECK(segment != (void*)-1);
    write_strided(segment, WORDS, 8);
    CHECK(shmdt((char*)segment + PAGE) != 0);
    write_strided(segment, WORDS, 8);
    CHECK(shmdt(segment) == 0);
    instead_of_segment = MAPPING_AT(segment);
    CHECK(instead_of_segment == segment);
    read_strided(instead_of_segment, WORDS, 8);
}

static void* forgotten;
static void* remembered;
static void* forgotten_shared;

static void* write_again(void* unused) {
    write_strided(forgotten, WORDS, 8);
    write_strided(remembered, WORDS, 8);
    write_strided(forgotten_shared, WORDS, 8);
    return unused;
}

// Another thread writes afterwards: first where the pages are new.
static void forget(void) {
    forgotten = NEW_MAPPING();
    remembered = NEW_MAPPING();
    forgotten_shared = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    write_strided(forgotten, WORDS, 8);
    write_strided(remembered, WORDS, 8);
    write_strided(forgotten_shared, WORDS, 8);
    CHECK(madvise(forgotten, BYTES, MADV_DONTNEED) == 0);
    CHECK(madvise((char*)remembered + 1, BYTES, MADV_DONTNEED) != 0);
    CHECK(madvise(forgotten_shared, BYTES, MADV_DONTNEED) == 0);
    CHECK(pthread_create(&thread, NULL, write_again, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void* asking;
static void* refusing;
static void* without_advice;
static char* allocated;

// Asks for transparent huge pages in a mapping and in a block, and refuses them in another mapping.
static void advise(void) {
    asking = NEW_MAPPING();
    refusing = NEW_MAPPING();
    without_advice = NEW_MAPPING();
    allocated = malloc(BYTES);
    char* first_page = (char*)(((uintptr_t)allocated + PAGE - 1) & -(uintptr_t)PAGE);
    if (madvise(asking, BYTES, MADV_HUGEPAGE) != 0) printf("no transparent huge pages\n");
    madvise(first_page, BYTES - PAGE, MADV_HUGEPAGE);
    madvise(refusing, BYTES, MADV_HUGEPAGE);
    madvise(refusing, BYTES, MADV_NOHUGEPAGE);
    CHECK(madvise((char*)without_advice + 1, BYTES, MADV_HUGEPAGE) != 0);
    void* advised[] = {asking, refusing, without_advice, allocated};
    for (int i = 0; i < 4; ++i) write_strided(advised[i], WORDS, 8);
}

static void* by_read;
static void* by_pread;
static void* by_readv;
static void* by_preadv;
static void* by_preadv2;
static void* by_copy;
static void* by_recv;
static void* by_recvmsg;
static void* by_recvmmsg;
static void* by_syscall;
static void* by_writev;
static void* by_getdents;
static void* by_getdents64;
static void* by_getrandom;
static void* in_parts;
static void* by_registering;
static void* populated;

static struct iovec* halves(void* of) {
    static struct iovec parts[2];
    parts[0] = (struct iovec){of, BYTES / 2};
    parts[1] = (struct iovec){(char*)of + BYTES / 2, BYTES / 2};
    return parts;
}

static void read_files(void) {
    const int zeros = open("/dev/zero", O_RDONLY);
    by_read = NEW_MAPPING();
    CHECK(read(zeros, by_read, BYTES) == BYTES);
    by_pread = NEW_MAPPING();
    CHECK(pread(zeros, by_pread, BYTES, 0) == BYTES);
    by_readv = NEW_MAPPING();
    CHECK(readv(zeros, halves(by_readv), 2) == BYTES);
    by_preadv = NEW_MAPPING();
    CHECK(preadv(zeros, halves(by_preadv), 2, 0) == BYTES);
    by_preadv2 = NEW_MAPPING();
    CHECK(preadv2(zeros, halves(by_preadv2), 2, 0, 0) == BYTES);
    by_syscall = NEW_MAPPING();
    CHECK(syscall(SYS_read, zeros, by_syscall, BYTES) == BYTES);
    in_parts = NEW_MAPPING();
    for (int round = 0; round < 2; round++) {
        for (size_t at = 0; at < BYTES; at += 1000) {
            const size_t part = BYTES - at < 1000 ? BYTES - at : 1000;
            CHECK(read(zeros, (char*)in_parts + at, part) == (ssize_t)part);
        }
    }
    close(zeros);
    struct iovec from = {by_read, BYTES};
    by_copy = NEW_MAPPING();
    CHECK(process_vm_readv(getpid(), halves(by_copy), 2, &from, 1, 0) == BYTES);
    from = (struct iovec){by_copy, BYTES};
    by_writev = NEW_MAPPING();
    CHECK(process_vm_writev(getpid(), &from, 1, halves(by_writev), 2, 0) == BYTES);
    by_getrandom = NEW_MAPPING();
    CHECK(syscall(SYS_getrandom, by_getrandom, BYTES, 0) == BYTES);
}

// Prints the number of bytes that describe files.
static void list_files(void) {
    const int folder = open("/proc/self", O_RDONLY | O_DIRECTORY);
    by_getdents = NEW_MAPPING();
    printf("by_getdents %ld\n", syscall(SYS_getdents, folder, by_getdents, BYTES));
    CHECK(lseek(folder, 0, SEEK_SET) == 0);
    by_getdents64 = NEW_MAPPING();
    printf("by_getdents64 %ld\n", syscall(SYS_getdents64, folder, by_getdents64, BYTES));
    close(folder);
}

static void* of_huge_pages;

// The kernel makes such a mapping longer. Prints whether there are huge pages.
static void use_huge_pages(void) {
    const size_t huge_page = (size_t)2 << 20;
    of_huge_pages = mmap(NULL, 5000, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << MAP_HUGE_SHIFT, -1, 0);
    if (of_huge_pages == MAP_FAILED) {
        printf("no huge pages\n");
        return;
    }
    write_strided(of_huge_pages, huge_page / 8, 8);
    CHECK(munmap(of_huge_pages, huge_page) == 0);
}

// Datagrams of half the size, which are in one buffer each.
static void receive(void) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    for (int i = 0; i < 6; i++) CHECK(send(ends[0], by_read, BYTES / 2, 0) == BYTES / 2);
    by_recv = NEW_MAPPING();
    CHECK(recv(ends[1], by_recv, BYTES, 0) == BYTES / 2);
    CHECK(recv(ends[1], (char*)by_recv + BYTES / 2, PAGE, MSG_TRUNC) == BYTES / 2);
    by_recvmsg = NEW_MAPPING();
    for (int half = 0; half < 2; half++) {
        struct msghdr message = {.msg_iov = halves(by_recvmsg) + half, .msg_iovlen = 1};
        CHECK(recvmsg(ends[1], &message, 0) == BYTES / 2);
    }
    by_recvmmsg = NEW_MAPPING();
    struct mmsghdr messages[2] = {{{.msg_iov = halves(by_recvmmsg), .msg_iovlen = 1}, 0},
                                  {{.msg_iov = halves(by_recvmmsg) + 1, .msg_iovlen = 1}, 0}};
    CHECK(recvmmsg(ends[1], messages, 2, 0, NULL) == 2);
    close(ends[0]);
    close(ends[1]);
}

// Each structure is read once, because a structure without an access has no other data.
static void read_first_words(void) {
    void* const filled[] = {by_read,        by_pread,    by_readv,   by_preadv,   by_preadv2,
                            by_copy,        by_recv,     by_recvmsg, by_recvmmsg, by_syscall,
                            by_registering, populated,   in_parts,   by_writev,   by_getdents,
                            by_getdents64,  by_getrandom};
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++) {
        if (filled[i] != NULL) read_strided(filled[i], 1, 8);
    }
}

// Prints whether the kernel has io_uring.
static void populate(void) {
    populated = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    struct io_uring_params parameters = {0};
    const int ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
    if (ring < 0) {
        printf("no io_uring\n");
        return;
    }
    by_registering = NEW_MAPPING();
    CHECK(syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, halves(by_registering),
                  2) == 0);
    close(ring);
}

static void* huge;
static void* across;
static void* instead_of_huge;

// Addresses are counted modulo 1 TiB: a mapping of twice that, and one on a boundary.
static void exceed(void) {
    const size_t tera = (size_t)1 << 40;
    huge = mmap(NULL, 2 * tera, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(huge != MAP_FAILED);
    char* used = (char*)huge + tera / 2;
    CHECK(mprotect(used, BYTES, PROT_READ | PROT_WRITE) == 0);
    write_strided(used, WORDS, 8);
    CHECK(munmap(huge, 2 * tera) == 0);
    instead_of_huge = MAPPING_AT(used);
    read_strided(instead_of_huge, WORDS, 8);

    // The addresses below the boundary count as addresses of the stack.
    const size_t half = 32 << 20;
    char* boundary = (char*)(0x6f * tera);
    across =
        mmap(boundary - half, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(across == boundary - half);
    write_strided(across, WORDS, 8);
    write_strided(boundary, WORDS, 8);
    CHECK(munmap(across, 2 * half) == 0);
}

enum { ROUNDS = 500, RACING_PAGES = 4 };
static void* of_first;
static void* of_second;

// Two threads map and unmap all the time, and mostly get addresses that the other one has freed.
static void* race_first(void* unused) {
    for (int round = 0; round < ROUNDS; round++) {
        of_first = mmap(NULL, RACING_PAGES * PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        write_strided(of_first, RACING_PAGES * PAGE / 8, 8);
        CHECK(munmap(of_first, RACING_PAGES * PAGE) == 0);
    }
    return unused;
}

static void* race_second(void* unused) {
    for (int round = 0; round < ROUNDS; round++) {
        of_second = mmap(NULL, RACING_PAGES * PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        read_strided(of_second, RACING_PAGES * PAGE / 8, 8);
        CHECK(munmap(of_second, RACING_PAGES * PAGE) == 0);
    }
    return unused;
}

static void race(void) {
    pthread_t first;
    pthread_t second;
    CHECK(pthread_create(&first, NULL, race_first, NULL) == 0);
    CHECK(pthread_create(&second, NULL, race_second, NULL) == 0);
    CHECK(pthread_join(first, NULL) == 0 && pthread_join(second, NULL) == 0);
}

int main(void) {
    fail();
    remap();
    share();
    forget();
    read_files();
    list_files();
    use_huge_pages();
    advise();
    receive();
    populate();
    race();
    exceed();
    read_first_words();
    printf("as expected\n");
    return 0;
}
