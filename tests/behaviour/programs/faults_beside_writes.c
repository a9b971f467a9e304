// SPDX-License-Identifier: Apache-2.0
// Generated code faults while another thread writes to data in the same page. Virtual machines that
// detect null pointers by their faults do this.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "rounds.h"

enum { FAULTING = 3, TIMES = 600, CODE = 64, LOAD = 6, LENGTH = 3, COPIES = 4 };

static unsigned char* page;
static volatile int finished;

// mov eax, FAULTING; nop; then a read of where rdi points to; ret
static void generate(unsigned char* code) {
    const unsigned char body[] = {0xb8, FAULTING, 0, 0, 0, 0x90, 0x48, 0x8b, 0x0f, 0xc3};
    memcpy(code, body, sizeof body);
}

// Continues after the read, if the read has faulted.
static void on_fault(int signal, siginfo_t* info, void* context) {
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    const size_t at = (size_t)registers[REG_RIP] - (size_t)page;
    (void)signal;
    CHECK(at < COPIES * CODE && at % CODE == LOAD);
    CHECK(info->si_addr == NULL && registers[REG_RDI] == 0 && registers[REG_RAX] == FAULTING);
    registers[REG_RIP] += LENGTH;
    registers[REG_RAX] = 1;
}

static void* fault(void* result) {
    long sum = 0;
    for (int i = 0; i < TIMES; i++)
        sum += ((int (*)(const void*))(page + CODE * (i % COPIES)))(NULL);
    *(long*)result = sum;
    return NULL;
}

static void* write_beside(void* data) {
    while (!finished) ++*(volatile long*)data;
    return NULL;
}

static long work(void) {
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    pthread_t writer, faulting[FAULTING];
    long sums[FAULTING], sum = 0;
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
    for (int i = 0; i < COPIES; i++) generate(page + CODE * i);
    finished = 0;
    CHECK(pthread_create(&writer, NULL, write_beside, page + PAGE / 2) == 0);
    for (int i = 0; i < FAULTING; i++)
        CHECK(pthread_create(&faulting[i], NULL, fault, &sums[i]) == 0);
    for (int i = 0; i < FAULTING; i++) {
        CHECK(pthread_join(faulting[i], NULL) == 0);
        sum += sums[i];
    }
    finished = 1;
    CHECK(pthread_join(writer, NULL) == 0 && munmap(page, PAGE) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
