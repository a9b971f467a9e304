// SPDX-License-Identifier: Apache-2.0
// Jumps into memory that may be read, but not executed: data, code that was executed before, and
// code that continues in such a page.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "rounds.h"

enum { EACH = 4, ANY = PROT_READ | PROT_WRITE, CODE = PROT_READ | PROT_EXEC };

static sigjmp_buf before;
static int faults, goes_on;
static const char *fault_at, *instruction;
static long result;

static void on_fault(int signal, siginfo_t* info, void* context) {
    const greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    CHECK(signal == SIGSEGV && info->si_code == SEGV_ACCERR);
    faults++;
    fault_at = info->si_addr;
    instruction = (const char*)registers[REG_RIP];
    result = registers[REG_RAX];
    if (!goes_on) siglongjmp(before, 1);
    CHECK(mprotect(info->si_addr, PAGE, CODE) == 0);
}

static long call(const char* code) {
    return ((int (*)(void))(uintptr_t)code)();
}

static void check_faults_at(const char* code) {
    faults = 0;
    if (sigsetjmp(before, 1) == 0) call(code);
    CHECK(faults == 1 && fault_at == code && instruction == code);
}

static char* map(int protection, int pages) {
    char* memory = mmap(NULL, (size_t)pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void protect(char* memory, int protection) {
    CHECK(mprotect(memory, PAGE, protection) == 0);
}

// mov eax, value; ret
static void generate(char* code, int value) {
    code[0] = (char)0xb8;
    memcpy(code + 1, &value, sizeof value);
    code[5] = (char)0xc3;
}

static void in_data(void) {
    char on_stack[16];
    char* memory = map(ANY, 1);
    generate(memory, 1);
    generate(on_stack, 1);
    check_faults_at(memory);
    check_faults_at(on_stack);
    protect(memory, PROT_READ);
    check_faults_at(memory);
    CHECK(munmap(memory, PAGE) == 0);
}

static void after_execution(void) {
    const int protections[] = {PROT_READ, ANY, PROT_NONE};
    char* memory = map(ANY, 1);
    generate(memory, 2);
    for (size_t i = 0; i < sizeof protections / sizeof *protections; i++) {
        protect(memory, CODE);
        CHECK(call(memory) == 2);
        protect(memory, protections[i]);
        check_faults_at(memory);
        protect(memory, CODE | PROT_WRITE);
        CHECK(call(memory) == 2);
        protect(memory, protections[i]);
        check_faults_at(memory);
    }
    protect(memory, CODE);
    CHECK(call(memory) == 2);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    CHECK(mmap(memory, PAGE, PROT_READ, flags, -1, 0) == memory);
    check_faults_at(memory);
    CHECK(munmap(memory, PAGE) == 0);
}

// The instructions in the first page are executed. `over`: bytes of the last one in the next page.
static void into_the_next_page(int over) {
    char* memory = map(ANY, 2);
    char* second = memory + PAGE;
    char* code = second - 10 + over;
    generate(code, 3);
    generate(code + 5, 4);
    code[10] = (char)0xc3;
    protect(memory, CODE);
    const char* last = over == 0 ? code + 10 : code + 5;
    faults = 0;
    if (sigsetjmp(before, 1) == 0) call(code);
    CHECK(faults == 1 && fault_at == second && instruction == last);
    CHECK(result == (over == 0 ? 4 : 3));
    goes_on = 1;
    CHECK(call(code) == 4 && faults == 2 && fault_at == second && instruction == last);
    goes_on = 0;
    protect(second, PROT_NONE);
    if (sigsetjmp(before, 1) == 0) call(code);
    CHECK(faults == 3 && fault_at == second && instruction == last);
    CHECK(result == (over == 0 ? 4 : 3));
    CHECK(munmap(memory, 2 * PAGE) == 0);
}

static long work(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    for (int i = 0; i < EACH; i++) {
        in_data();
        after_execution();
        for (int over = 0; over < 5; over++) into_the_next_page(over);
    }
    return EACH;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
