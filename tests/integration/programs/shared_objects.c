// SPDX-License-Identifier: Apache-2.0
//
// A parent fills shared memory of each kind, and two children read it. Prints nothing.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPages = 4, kBytes = kPages * 4096, kWords = kBytes / 8 };

static uint64_t sink;

static void fill(volatile uint64_t* words) {
    for (int i = 0; i < kWords; ++i) words[i] = (uint64_t)i;
}

static void read_words(volatile uint64_t* words, int pages) {
    for (int i = 0; i < pages * 512; ++i) sink += words[i];
}

static uint64_t* map_file(int file, int page) {
    const size_t skipped = (size_t)page * 4096;
    void* at = mmap(0, kBytes - skipped, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)skipped);
    return at == MAP_FAILED ? 0 : at;
}

int main(int argc, char** argv) {
    (void)argc;
    const int named = shm_open(argv[1], O_CREAT | O_RDWR, 0600);
    const int unnamed = memfd_create("unnamed", 0);
    const int segment = shmget(IPC_PRIVATE, kBytes, IPC_CREAT | 0600);
    if (ftruncate(named, kBytes) != 0 || ftruncate(unnamed, kBytes) != 0) return 2;
    uint64_t* anonymous =
        mmap(0, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t* posix = map_file(named, 0);
    uint64_t* memory = map_file(unnamed, 0);
    uint64_t* system_v = shmat(segment, 0, 0);
    // A file that never had a name: only the variable gives it a name.
    const int temporary = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    if (ftruncate(temporary, kBytes) != 0) return 4;
    uint64_t* scratch = mmap(0, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, temporary, 0);
    if (scratch == MAP_FAILED) return 5;
    uint64_t* own = mmap(0, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (anonymous == MAP_FAILED || !posix || !memory || system_v == (void*)-1) return 3;
    fill(anonymous);
    fill(posix);
    fill(memory);
    fill(system_v);
    fill(own);
    fill(scratch);
    int failed = 0;
    for (int child = 0; child < 2; ++child) {
        if (fork() == 0) {
            read_words(anonymous, kPages);
            // The first child uses inherited mappings; the second maps the objects itself, at other
            // addresses.
            if (child == 1) {
                shmdt(system_v);
                system_v = shmat(segment, 0, 0);
                posix = map_file(named, 1);
                memory = map_file(unnamed, 2);
            }
            read_words(system_v, kPages);
            read_words(posix, kPages - child);
            read_words(memory, kPages - 2 * child);
            read_words(scratch, kPages);
            own[0] = 1;
            _exit(0);
        }
        int status = 0;
        wait(&status);
        failed |= status;
    }
    shm_unlink(argv[1]);
    shmctl(segment, IPC_RMID, 0);
    return failed;
}
