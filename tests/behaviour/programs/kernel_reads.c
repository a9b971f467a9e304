// SPDX-License-Identifier: Apache-2.0
// The kernel reads a file into memory by itself (io_uring), if the system allows this.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "rounds.h"

enum { ENTRIES = 8, READS = 50, FORBIDDEN = -1 };

static char buffer[PAGE];

typedef struct Ring {
    int descriptor;
    char *submissions, *completions;
    size_t bytes;
    struct io_uring_sqe* entries;
    struct io_uring_params parameters;
} Ring;

static void* map(const Ring* ring, size_t bytes, off_t which) {
    void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        ring->descriptor, which);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static int open_ring(Ring* ring) {
    struct io_uring_params* found = &ring->parameters;
    ring->descriptor = (int)syscall(SYS_io_uring_setup, ENTRIES, found);
    if (ring->descriptor < 0) return 0;
    CHECK(found->features & IORING_FEAT_SINGLE_MMAP);
    const size_t sent = found->sq_off.array + found->sq_entries * sizeof(unsigned);
    const size_t done = found->cq_off.cqes + found->cq_entries * sizeof(struct io_uring_cqe);
    ring->bytes = sent > done ? sent : done;
    ring->submissions = ring->completions = map(ring, ring->bytes, IORING_OFF_SQ_RING);
    ring->entries = map(ring, found->sq_entries * sizeof *ring->entries, IORING_OFF_SQES);
    return 1;
}

static unsigned* number(char* base, unsigned offset) {
    return (unsigned*)(base + offset);
}

static int read_once(Ring* ring, int file) {
    const struct io_uring_params* at = &ring->parameters;
    unsigned* tail = number(ring->submissions, at->sq_off.tail);
    const unsigned place = *tail & *number(ring->submissions, at->sq_off.ring_mask);
    ring->entries[place] = (struct io_uring_sqe){
        .opcode = IORING_OP_READ, .fd = file, .addr = (uintptr_t)buffer, .len = PAGE};
    number(ring->submissions, at->sq_off.array)[place] = place;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    CHECK(syscall(SYS_io_uring_enter, ring->descriptor, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) == 1);

    unsigned* head = number(ring->completions, at->cq_off.head);
    const unsigned taken = *head & *number(ring->completions, at->cq_off.ring_mask);
    const struct io_uring_cqe* results =
        (const struct io_uring_cqe*)(ring->completions + at->cq_off.cqes);
    const int result = results[taken].res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return result;
}

static long work(void) {
    Ring ring = {0};
    long sum = 0;
    if (!open_ring(&ring)) return FORBIDDEN;
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0);
    for (int i = 0; i < READS; i++) {
        memset(buffer, 0, PAGE);
        sum += read_once(&ring, file);
        CHECK(memcmp(buffer, "\177ELF", 4) == 0);
    }
    CHECK(munmap(ring.entries, ring.parameters.sq_entries * sizeof *ring.entries) == 0);
    CHECK(munmap(ring.submissions, ring.bytes) == 0 && close(ring.descriptor) == 0);
    CHECK(close(file) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
