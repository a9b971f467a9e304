// SPDX-License-Identifier: Apache-2.0
// Checks what the handler of a signal learns about the cause, and which values the instruction
// syscall leaves in registers.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "rounds.h"

enum { EACH = 50 };

static const int signals[] = {SIGILL, SIGTRAP, SIGSEGV};
enum { SIGNALS = sizeof signals / sizeof *signals };
static sigjmp_buf before;
static siginfo_t told;

static void on_signal(int signal, siginfo_t* info, void* context) {
    (void)context;
    CHECK(info->si_signo == signal);
    told = *info;
    if (signal != SIGTRAP) siglongjmp(before, 1);
}

static void check_told(int signal, int code, const void* address) {
    CHECK(told.si_signo == signal && told.si_code == code && told.si_addr == address);
    told.si_signo = 0;
}

static void breakpoint(void) {
    __asm__ volatile("int3" ::: "memory");
    check_told(SIGTRAP, SI_KERNEL, NULL);
}

static void invalid_instruction(void) {
    extern const char place_of_invalid[];
    if (sigsetjmp(before, 1) == 0)
        __asm__ volatile(".globl place_of_invalid\nplace_of_invalid: ud2");
    check_told(SIGILL, ILL_ILLOPN, place_of_invalid);
}

static void jump_to(const char* place, int code) {
    if (sigsetjmp(before, 1) == 0) ((void (*)(void))(uintptr_t)place)();
    check_told(SIGSEGV, code, place);
}

// rcx has the address of the next instruction, r11 the flags.
#define CHECK_REGISTERS(number)                                                        \
    do {                                                                               \
        uint64_t next, flags, next_told, result;                                       \
        register uint64_t flags_told __asm__("r11");                                   \
        __asm__ volatile(                                                              \
            "leaq 1f(%%rip), %[next]\n\tstc\n\tpushfq\n\tpopq %[flags]\n\t"            \
            "movl $" #number ", %%eax\n\tsyscall\n1:"                                  \
            : [next] "=&r"(next), [flags] "=&r"(flags), "=a"(result), "=c"(next_told), \
              "=r"(flags_told)                                                         \
            : "D"(-1), "S"(0), "d"(0)                                                  \
            : "cc", "memory");                                                         \
        CHECK(next_told == next && flags_told == flags && result != number);           \
    } while (0)

static void registers_of_calls(void) {
    CHECK_REGISTERS(39);   // getpid
    CHECK_REGISTERS(3);    // close
    CHECK_REGISTERS(11);   // munmap
    CHECK_REGISTERS(158);  // arch_prctl
    CHECK_REGISTERS(14);   // rt_sigprocmask
}

static long work(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    char* hidden = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(hidden != MAP_FAILED && munmap(hidden + PAGE, PAGE) == 0);
    for (int i = 0; i < SIGNALS; i++) CHECK(sigaction(signals[i], &action, NULL) == 0);
    for (int i = 0; i < EACH; i++) {
        breakpoint();
        invalid_instruction();
        jump_to(hidden, SEGV_ACCERR);
        jump_to(hidden + PAGE, SEGV_MAPERR);
        registers_of_calls();
    }
    CHECK(munmap(hidden, PAGE) == 0);
    return EACH;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
