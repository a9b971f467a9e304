// SPDX-License-Identifier: Apache-2.0
// Unusual actions of programs, by MODE. Each writes WORDS words of `data` at the end, prints
// "right" if the result is the one that the language or the kernel promises, and returns 7.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern "C" {
#include "kernels.h"
char data[2 * PAGE] __attribute__((aligned(4096)));
}

namespace {

constexpr int WORDS = 1024;
char* guarded;
volatile int faults;
sigjmp_buf back;

void open_page(int, siginfo_t* info, void*) {
    faults = faults + 1;
    const auto page = reinterpret_cast<unsigned long>(info->si_addr) & ~(PAGE - 1ul);
    mprotect(reinterpret_cast<void*>(page), PAGE, PROT_READ | PROT_WRITE);
}

void jump_back(int) {
    faults = faults + 1;
    siglongjmp(back, 1);
}

void handle(int number, void (*handler)(int, siginfo_t*, void*), int flags) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(number, &action, nullptr);
}

// The code keeps many registers in use around two accesses; each of them may fault.
__attribute__((noinline)) long many_registers(volatile long* a, volatile long* b, long x) {
    long result;
    __asm__ volatile(
        "mov %[x], %%rax\n lea 1(%[x]), %%rbx\n lea 2(%[x]), %%rcx\n lea 3(%[x]), %%rdx\n"
        "lea 4(%[x]), %%r8\n lea 5(%[x]), %%r9\n lea 6(%[x]), %%r10\n lea 7(%[x]), %%r11\n"
        "lea 8(%[x]), %%r12\n lea 9(%[x]), %%r13\n"
        "cmp %%rax, %%rax\n stc\n"
        "mov (%[a]), %%r14\n"
        "adc $0, %%rax\n"
        "stc\n"
        "mov %%rax, (%[b])\n"
        "adc %%rbx, %%rax\n adc %%rcx, %%rax\n add %%rdx, %%rax\n add %%r8, %%rax\n"
        "add %%r9, %%rax\n add %%r10, %%rax\n add %%r11, %%rax\n add %%r12, %%rax\n"
        "add %%r13, %%rax\n add %%r14, %%rax\n mov %%rax, %[result]\n"
        : [result] "=&r"(result)
        : [a] "r"(a), [b] "r"(b), [x] "r"(x)
        : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "cc",
          "memory");
    return result;
}

bool fault_and_resume() {
    handle(SIGSEGV, open_page, 0);
    bool right = true;
    for (int round = 0; round < 200; ++round) {
        auto* a = reinterpret_cast<volatile long*>(guarded);
        auto* b = reinterpret_cast<volatile long*>(guarded + PAGE);
        mprotect(guarded, 2 * PAGE, PROT_READ | PROT_WRITE);
        *a = round;
        mprotect(guarded, PAGE, round % 2 == 0 ? PROT_NONE : PROT_READ);
        mprotect(guarded + PAGE, PAGE, round % 3 == 0 ? PROT_NONE : PROT_READ);
        const long x = 1000 + round;
        right = right && many_registers(a, b, x) == 10 * x + 45 + 2 + round && *b == x + 1;
    }
    return right && faults == 100 + 200;
}

bool alternate_stack() {
    std::vector<char> memory(64 * 1024);
    stack_t stack{};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    sigaltstack(&stack, nullptr);
    handle(SIGSEGV, open_page, SA_ONSTACK);
    mprotect(guarded, PAGE, PROT_NONE);
    *guarded = 3;
    return faults == 1 && *guarded == 3;
}

bool jump_out_of_handler() {
    struct sigaction action{};
    action.sa_handler = jump_back;
    sigaction(SIGSEGV, &action, nullptr);
    while (faults < 100) {
        mprotect(guarded, PAGE, PROT_NONE);
        if (sigsetjmp(back, 1) == 0) {
            *guarded = 1;
            return false;
        }
    }
    return faults == 100;
}

struct Counted {
    explicit Counted(int& destroyed) : destroyed_(destroyed) {}
    ~Counted() { ++destroyed_; }
    int& destroyed_;
};

__attribute__((noinline)) void throw_from(int depth, int& destroyed) {
    const Counted counted(destroyed);
    if (depth == 0) throw std::runtime_error("deep");
    throw_from(depth - 1, destroyed);
    data[0] = static_cast<char>(destroyed);
}

bool exceptions() {
    int destroyed = 0;
    int caught = 0;
    for (int round = 0; round < 50; ++round) {
        try {
            throw_from(20, destroyed);
        } catch (const std::runtime_error& error) {
            caught += std::string(error.what()) == "deep";
        }
        try {
            volatile size_t too_much = ~size_t{0} / 4;
            std::vector<char*> kept(1, new char[too_much]);
            data[0] = *kept[0];
        } catch (const std::bad_alloc&) {
            ++caught;
        }
    }
    return destroyed == 50 * 21 && caught == 100;
}

ucontext_t caller, coroutine;
long yielded;

void produce() {
    for (long i = 1;; ++i) {
        yielded = i * i;
        swapcontext(&coroutine, &caller);
    }
}

bool coroutines() {
    std::vector<char> stack(64 * 1024);
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack.data();
    coroutine.uc_stack.ss_size = stack.size();
    makecontext(&coroutine, produce, 0);
    long sum = 0;
    for (int i = 0; i < 1000; ++i) {
        swapcontext(&caller, &coroutine);
        sum += yielded;
    }
    return sum == 333833500;
}

volatile int ticks;

bool signal_storm() {
    std::signal(SIGALRM, [](int) { ticks = ticks + 1; });
    const itimerval interval{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &interval, nullptr);
    for (int round = 0; round < 200000 || ticks < 100; ++round) read_strided(data + PAGE, 8, 8);
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    return ticks >= 100;
}

bool many_threads() {
    long sum = 0;
    for (int i = 0; i < 20000; ++i) {
        std::thread([&sum] { ++sum; }).join();
    }
    return sum == 20000;
}

bool fork_with_threads() {
    std::thread([] {}).join();
    pthread_t sleeper;
    pthread_create(
        &sleeper, nullptr,
        [](void*) -> void* {
            for (;;) pause();
        },
        nullptr);
    bool right = true;
    for (int i = 0; i < 5; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            write_strided(data, 8, 8);
            _exit(9);
        }
        int status = 0;
        right = right && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9;
    }
    return right;
}

bool close_everything() {
    const int kept = dup(1);
    for (int file = 3; file < 4096; ++file)
        if (file != kept) close(file);
    syscall(SYS_close_range, kept + 1, ~0u, 0);
    void* more = malloc(16 << 20);
    memset(more, 1, 16 << 20);
    const pid_t child = fork();
    if (child == 0) _exit(3);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 3;
}

bool fork_succeeds() {
    const pid_t child = fork();
    if (child == 0) {
        write_strided(data, 8, 8);
        _exit(9);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 9;
}

bool other_root() {
    return mkdir("cell", 0700) == 0 && chroot("cell") == 0 && chdir("/") == 0 && fork_succeeds();
}

bool other_user() {
    return setgid(65534) == 0 && setuid(65534) == 0 && getuid() == 65534 && fork_succeeds();
}

bool few_descriptors() {
    const rlimit limit{4, 4};
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 && fork_succeeds();
}

bool run(const std::string& mode) {
    if (mode == "resume") return fault_and_resume();
    if (mode == "altstack") return alternate_stack();
    if (mode == "longjmp") return jump_out_of_handler();
    if (mode == "exceptions") return exceptions();
    if (mode == "coroutines") return coroutines();
    if (mode == "storm") return signal_storm();
    if (mode == "threads") return many_threads();
    if (mode == "fork_threads") return fork_with_threads();
    if (mode == "closefrom") return close_everything();
    if (mode == "chdir") return chdir("/") == 0 && fork_succeeds();
    if (mode == "chroot") return other_root();
    if (mode == "setuid") return other_user();
    if (mode == "few_descriptors") return few_descriptors();
    if (mode == "setsid") return fork_succeeds() && (setsid() != -1 || getsid(0) == getpid());
    return false;
}

}  // namespace

int main(int, char** argv) {
    guarded = static_cast<char*>(
        mmap(nullptr, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const bool right = run(argv[1] != nullptr ? argv[1] : "");
    write_strided(data, WORDS, 8);
    puts(right ? "right" : "wrong");
    return 7;
}
