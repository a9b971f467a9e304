// SPDX-License-Identifier: Apache-2.0
// Four threads, thread t on CPU t, touch the quarters of `A` first and then work on them, so that
// all is local. `work moved`: each thread works on the next CPU. `work full`: node 1 has hardly any
// memory left. The nodes are those of guest_program.h.
#define _GNU_SOURCE
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NODES = 4,
    MIB = 1 << 20,
    STEP = 2048 / sizeof(double),
    PART = 56 * MIB / sizeof(double),
    SWEEPS = 8,
    LEFT_MIB = 36,  // a part of it is for the kernel's reserve and for the recorder
    BLOCK_MIB = 2,
    MOST_BLOCKS = 256,
    SAMPLED_S = 5,  // long enough for a recorder to see where a thread is
};

static double* A;
static int moved;
static pthread_barrier_t barrier;

static void fail(const char* what) {
    perror(what);
    exit(1);
}

static void pin(int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) fail("sched_setaffinity");
}

static void* work(void* number) {
    const int thread = (int)(long)number;
    double* part = A + (long)thread * PART;
    pin(thread);
    for (int i = 0; i < PART; i += STEP) part[i] = i;
    pthread_barrier_wait(&barrier);
    if (moved) {
        sleep(SAMPLED_S);
        pin((thread + 1) % NODES);
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int i = 0; i < PART; i += STEP) part[i] = 0.5 * part[i] + 1.0;
    if (moved) sleep(SAMPLED_S);
    return NULL;
}

static int node_of(void* address) {
    int node = -1;
    const int flags = MPOL_F_NODE | MPOL_F_ADDR;
    if (syscall(SYS_get_mempolicy, &node, NULL, 0L, address, flags) != 0) fail("get_mempolicy");
    return node;
}

// Memory that the kernel fills, so that no access of ours is counted: all that the node gives but
// LEFT_MIB. CPU n is on node n: a CPU first keeps freed pages for itself. Huge pages are quick to
// fill; the last ones are not, because the kernel has none left.
static void fill(int node) {
    pin(node);
    const unsigned long nodes = 1UL << node;
    const long size = BLOCK_MIB * MIB;
    char* all = mmap(NULL, (MOST_BLOCKS + 1) * size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    all += -(unsigned long)all % size;
    madvise(all, MOST_BLOCKS * size, MADV_HUGEPAGE);
    if (syscall(SYS_mbind, all, MOST_BLOCKS * size, MPOL_PREFERRED, &nodes, 8 * sizeof nodes, 0) !=
        0)
        fail("mbind");
    int count = 0;
    while (count < MOST_BLOCKS) {
        char* block = all + count * size;
        if (mlock(block, size) != 0) fail("mlock");
        if (node_of(block + size - 1) != node) break;
        count++;
    }
    if (count == MOST_BLOCKS) exit(2);
    munmap(all + (count - LEFT_MIB / BLOCK_MIB) * size, LEFT_MIB * MIB);
}

static void bind_all(int node) {
    const unsigned long nodes = 1UL << node;
    if (syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, 8 * sizeof nodes) != 0) fail("set_mempolicy");
}

int main(int count, char** words) {
    const char* how = count > 1 ? words[1] : "still";
    moved = strcmp(how, "moved") == 0;
    if (strcmp(how, "full") == 0) fill(1);
    if (strcmp(how, "bound") == 0) bind_all(1);
    A = mmap(NULL, NODES * PART * sizeof *A, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
             -1, 0);
    pthread_barrier_init(&barrier, NULL, NODES);
    pthread_t threads[NODES];
    for (long t = 0; t < NODES; t++) {
        pin((int)t);  // a new thread is on its creator's CPU: it is never seen on another one
        if (pthread_create(&threads[t], NULL, work, (void*)t) != 0) fail("pthread_create");
    }
    for (int t = 0; t < NODES; t++) pthread_join(threads[t], NULL);
    return 0;
}
