// SPDX-License-Identifier: Apache-2.0
// Code that a program writes through one mapping of its pages and executes through another, or that
// a child writes: shared mappings, segments of System V, private mappings of a file.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "rounds.h"

enum { TIMES = 40, AGAIN = 10, CHILDREN = 3 };

// mov eax, value; ret
static void generate(unsigned char* code, int value) {
    code[0] = 0xb8;
    memcpy(code + 1, &value, sizeof value);
    code[5] = 0xc3;
}

static void run(const unsigned char* code, int value) {
    CHECK(((int (*)(void))code)() == value);
}

static unsigned char* map(int protection, int file) {
    const int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    unsigned char* memory = mmap(NULL, PAGE, protection, flags, file, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void write_and_run(unsigned char* written, const unsigned char* executed) {
    for (int i = 0; i < TIMES; i++) {
        generate(written, 5 * i);
        for (int k = 0; k < AGAIN; k++) run(executed, 5 * i);
    }
}

static void unmap(unsigned char* written, unsigned char* executed) {
    CHECK(munmap(written, PAGE) == 0 && munmap(executed, PAGE) == 0);
}

static void in_a_file(void) {
    const int file = memfd_create("code", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, PAGE) == 0);
    unsigned char* written = map(PROT_READ | PROT_WRITE, file);
    unsigned char* executed = map(PROT_READ | PROT_EXEC, file);
    write_and_run(written, executed);
    unmap(written, executed);
    written = map(PROT_READ | PROT_WRITE, file);
    executed = map(PROT_READ | PROT_WRITE, file);
    CHECK(mprotect(executed, PAGE, PROT_READ | PROT_EXEC) == 0);
    write_and_run(written, executed);
    unmap(written, executed);
    CHECK(close(file) == 0);
}

static void write_file(int file, int value) {
    unsigned char code[6];
    generate(code, value);
    CHECK(pwrite(file, code, sizeof code, 0) == sizeof code);
}

static unsigned char* map_private(int protection, int file) {
    unsigned char* memory = mmap(NULL, PAGE, protection, MAP_PRIVATE, file, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

// The kernel copies a page of a private mapping only when it is written there.
static void in_a_private_mapping(void) {
    const int file = memfd_create("code", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, PAGE) == 0);
    unsigned char* written = map(PROT_READ | PROT_WRITE, file);
    unsigned char* executed = map_private(PROT_READ | PROT_EXEC, file);
    write_and_run(written, executed);
    for (int i = 0; i < TIMES; i++) {
        write_file(file, 7 * i);
        run(executed, 7 * i);
    }
    unmap(written, executed);
    CHECK(close(file) == 0);
}

// Like a file that a loader reads, but the same process writes it: through a descriptor that was
// opened before or after the code was mapped, or in a mapping whose descriptor is closed.
static void in_a_file_that_is_read(void) {
    char name[] = "/tmp/code-XXXXXX";
    int written = mkstemp(name);
    const int read = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(written >= 0 && read >= 0);
    write_file(written, 0);
    unsigned char* executed = map_private(PROT_READ | PROT_EXEC, read);
    unsigned char* protected = map_private(PROT_READ, read);
    CHECK(mprotect(protected, PAGE, PROT_READ | PROT_EXEC) == 0);
    for (int i = 0; i < TIMES; i++) {
        write_file(written, i);
        run(executed, i);
        run(protected, i);
    }
    CHECK(close(written) == 0);
    unmap(executed, protected);
    executed = map_private(PROT_READ | PROT_EXEC, read);
    run(executed, TIMES - 1);
    written = open(name, O_WRONLY | O_CLOEXEC);
    CHECK(written >= 0);
    for (int i = 0; i < TIMES; i++) {
        write_file(written, i);
        run(executed, i);
    }
    CHECK(close(written) == 0 && munmap(executed, PAGE) == 0);
    written = open(name, O_RDWR | O_CLOEXEC);
    CHECK(written >= 0 && ftruncate(written, PAGE) == 0 && unlink(name) == 0);
    unsigned char* shared = map(PROT_READ | PROT_WRITE, written);
    CHECK(close(written) == 0);
    executed = map_private(PROT_READ | PROT_EXEC, read);
    write_and_run(shared, executed);
    unmap(shared, executed);
    CHECK(close(read) == 0);
}

static unsigned char* attach_segment(int segment, int flags) {
    unsigned char* memory = shmat(segment, NULL, flags);
    CHECK(memory != (void*)-1);
    return memory;
}

// Later, other code may be at the address of a segment.
static void in_a_segment(void) {
    const int segment = shmget(IPC_PRIVATE, PAGE, 0700);
    CHECK(segment >= 0);
    unsigned char* written = attach_segment(segment, 0);
    unsigned char* executed = attach_segment(segment, SHM_EXEC);
    CHECK(shmctl(segment, IPC_RMID, NULL) == 0);
    write_and_run(written, executed);
    write_and_run(executed, executed);
    CHECK(mprotect(executed, PAGE, PROT_READ | PROT_EXEC) == 0);
    write_and_run(written, executed);
    CHECK(shmdt(executed) == 0 && shmdt(executed) != 0);
    unsigned char* other = mmap(executed, PAGE, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (other == executed) {
        generate(other, 3);
        CHECK(mprotect(other, PAGE, PROT_READ | PROT_EXEC) == 0);
        run(other, 3);
    }
    CHECK(shmdt(written) == 0 && (other == MAP_FAILED || munmap(other, PAGE) == 0));
}

// Both mappings of the memory are writable and executable.
static void in_turn(void) {
    unsigned char* one = map(PROT_READ | PROT_WRITE | PROT_EXEC, -1);
    unsigned char* other = mremap(one, 0, PAGE, MREMAP_MAYMOVE);
    CHECK(other != MAP_FAILED && other != one);
    write_and_run(one, other);
    write_and_run(other, one);
    write_and_run(one, one);
    unmap(one, other);
}

static void by_a_child(void) {
    int status;
    unsigned char* code = map(PROT_READ | PROT_WRITE | PROT_EXEC, -1);
    for (int i = 0; i < CHILDREN; i++) {
        generate(code, i);
        run(code, i);
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            generate(code, -i);
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        run(code, -i);
    }
    CHECK(munmap(code, PAGE) == 0);
}

static long work(void) {
    in_a_file();
    in_a_private_mapping();
    in_a_file_that_is_read();
    in_a_segment();
    in_turn();
    by_a_child();
    return TIMES;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
