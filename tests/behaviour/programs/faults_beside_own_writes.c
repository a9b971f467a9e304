// SPDX-License-Identifier: Apache-2.0
// Generated code writes to data in its own page, and its next instructions fault. The handler finds
// the registers of this instruction, and continues behind it.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "rounds.h"

enum { TIMES = 1200, THREADS = 2, COUNTER = 1024, FAULTS = 3 };
enum { INCREMENT = 0x0a, LOAD = 0x10, DIVISION = 0x18, UNDEFINED = 0x20, LEAVE = 0x24 };
enum { LOAD_BYTES = 4, DIVISION_BYTES = 3, UNDEFINED_BYTES = 2, UNMAPPED = 16 };

static __thread unsigned char* page;
static __thread long faults;

static void on_fault(int signal, siginfo_t* info, void* context) {
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    const long at = registers[REG_RIP] - (long)page;
    CHECK(registers[REG_R8] == 3 * registers[REG_RDI]);
    CHECK(registers[REG_R9] == 3 * registers[REG_RDI] + 1);
    if (signal == SIGSEGV) {
        CHECK(at == LOAD && info->si_addr == (void*)UNMAPPED);
        registers[REG_RAX] = registers[REG_RDI] + 11;
        registers[REG_RIP] += LOAD_BYTES;
    } else if (signal == SIGFPE) {
        CHECK(at == DIVISION);
        registers[REG_RIP] += DIVISION_BYTES;
    } else {
        CHECK(at == UNDEFINED);
        registers[REG_RIP] += UNDEFINED_BYTES;
    }
    faults++;
}

static void generate(void) {
    const int32_t distance = COUNTER - LOAD;
    memset(page, 0x90, LEAVE);
    memcpy(page, "\x4c\x8d\x04\x7f\x4d\x8d\x48\x01\x31\xf6", 10);  // lea r8, [rdi+2*rdi];
    memcpy(page + INCREMENT, "\xff\x05", 2);                       // lea r9, [r8+1]; xor esi, esi;
    memcpy(page + INCREMENT + 2, &distance, sizeof distance);      // inc dword [COUNTER]
    memcpy(page + LOAD, "\x48\x8b\x46\x10\x31\xd2\x31\xc9", 8);    // mov rax, [rsi+16]; xor edx,
    memcpy(page + DIVISION, "\x48\xf7\xf9", DIVISION_BYTES);       // edx; xor ecx, ecx; idiv rcx
    memcpy(page + UNDEFINED, "\x0f\x0b", UNDEFINED_BYTES);         // ud2
    page[LEAVE] = 0xc3;
}

static void* execute(void* unused) {
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    generate();
    faults = 0;
    for (long i = 0; i < TIMES; i++) {
        CHECK(((long (*)(long))page)(i) == i + 11);
        CHECK(faults == FAULTS * (i + 1) && *(int*)(page + COUNTER) == i + 1);
    }
    CHECK(munmap(page, PAGE) == 0);
    return unused;
}

static long work(void) {
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    pthread_t threads[THREADS];
    for (int i = 0; i < FAULTS; i++)
        CHECK(sigaction((int[]){SIGSEGV, SIGFPE, SIGILL}[i], &action, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, execute, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return TIMES;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
