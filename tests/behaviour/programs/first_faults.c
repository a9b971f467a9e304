// SPDX-License-Identifier: Apache-2.0
// One thread writes to data beside generated code and lets the code fault, again and again: after
// an attach, this code is among the first that the recorder sees.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "rounds.h"

enum { TIMES = 100, LOAD = 6, LENGTH = 3, BEFORE = 3, AFTER = 1 };

static unsigned char* page;

// Continues after the read, if the read has faulted.
static void on_fault(int signal, siginfo_t* info, void* context) {
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    (void)signal;
    CHECK((unsigned char*)registers[REG_RIP] == page + LOAD && info->si_addr == NULL);
    CHECK(registers[REG_RDI] == 0 && registers[REG_RAX] == BEFORE);
    registers[REG_RIP] += LENGTH;
    registers[REG_RAX] = AFTER;
}

static long work(void) {
    // mov eax, BEFORE; nop; then a read of where rdi points to; ret
    static const unsigned char code[] = {0xb8, BEFORE, 0, 0, 0, 0x90, 0x48, 0x8b, 0x0f, 0xc3};
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    long sum = 0;
    if (page == NULL) {
        page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
        CHECK(page != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
        memcpy(page, code, sizeof code);
    }
    for (int i = 0; i < TIMES; i++) {
        ++*(volatile long*)(page + PAGE / 2);
        sum += ((int (*)(const void*))page)(NULL);
        usleep(1000);
    }
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
