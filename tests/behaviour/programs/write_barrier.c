// SPDX-License-Identifier: Apache-2.0
// A collector's write barrier: pages are made read-only again and again. The fault handler, which
// has its own stack, makes each page writable and counts it.
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "rounds.h"

enum { PAGES = 256, ROUNDS = 6 };

static char* heap;
static volatile long faults;
static char handler_stack[64 * 1024];

static void on_fault(int signal, siginfo_t* info, void* context) {
    (void)signal, (void)context;
    char* page = (char*)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
    CHECK(page >= heap && page < heap + PAGES * PAGE);
    CHECK(info->si_code == SEGV_ACCERR);
    faults++;
    CHECK(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0);
}

static long work(void) {
    const stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    long sum = 0;

    heap = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(heap != MAP_FAILED);
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    faults = 0;
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(mprotect(heap, PAGES * PAGE, PROT_READ) == 0);
        for (int page = 0; page < PAGES; page += round % 3 + 1)
            heap[page * PAGE + page] = (char)(round + page);
    }
    for (int page = 0; page < PAGES; page++) sum += heap[page * PAGE + page];
    CHECK(munmap(heap, PAGES * PAGE) == 0);
    return 1000000 * faults + sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
