// SPDX-License-Identifier: Apache-2.0
//
// Uses the break, limits, descriptors and environment of a process, by MODE. Prints the results. A
// recorded run must print the same as a native run.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Grows the break in small steps and large ones, and gives it back.
static void break_grows(void) {
    char* start = sbrk(0);
    char* small = sbrk(10);
    printf("exact: %d\n", (char*)sbrk(10) == small + 10 && small == start);
    size_t grown = 0;
    while (grown < (size_t)4 << 30 && sbrk(1 << 20) != (void*)-1) {
        grown += 1 << 20;
    }
    printf("grown: %zu MiB\n", grown >> 20);
    char* last = (char*)sbrk(0) - 1;
    *last = 1;
    printf("back: %d\n", brk(start) == 0 && sbrk(0) == start);
    printf("fresh: %d\n", sbrk(1 << 20) == start && start[0] == 0 && start[(1 << 20) - 1] == 0);
}

// The code with which valgrind.h asks whether Valgrind is there.
static void asks_for_valgrind(void) {
    const uint64_t request[6] = {0x1001, 0, 0, 0, 0, 0};
    uint64_t answer = 0;
    __asm__ volatile(
        "rolq $3, %%rdi\n rolq $13, %%rdi\n rolq $61, %%rdi\n rolq $51, %%rdi\n xchgq %%rbx, "
        "%%rbx\n"
        : "=d"(answer)
        : "a"(request), "0"(answer)
        : "cc", "memory");
    printf("valgrind: %d\n", (int)answer);
}

static void descriptors(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    printf("limits: %lu %lu\n", (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
    limit.rlim_cur = 32;
    printf("lowered: %d\n", setrlimit(RLIMIT_NOFILE, &limit));
    int last = 0;
    int opened = 0;
    for (int file = 0; (file = open("/dev/null", O_RDONLY)) >= 0; ++opened) {
        last = file;
    }
    printf("last: %d, %s\n", last, strerrorname_np(errno));
    const pid_t child = fork();
    if (child == 0) {
        _exit(open("/dev/null", O_RDONLY) == -1 ? 6 : 5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child: %d\n", WEXITSTATUS(status));
    register long third __asm__("rdx") = 0;
    register long second __asm__("rsi") = 0xffffffff;
    long result = SYS_close_range;
    __asm__ volatile("syscall"
                     : "+a"(result), "+r"(second), "+r"(third)
                     : "D"(3)
                     : "rcx", "r11", "memory");
    printf("closed: %ld %lx %ld\n", result, second, third);
    printf("next: %d\n", open("/dev/null", O_RDONLY));
}

extern char** environ;

static void environment(void) {
    int ours = 0;
    for (char** variable = environ; *variable != NULL; ++variable) {
        ours += strncmp(*variable, "DYNAMORIO", 9) == 0;
    }
    printf("variables: %d\n", ours);
    char text[65536];
    const int file = open("/proc/self/environ", O_RDONLY);
    const ssize_t bytes = read(file, text, sizeof text);
    printf("in /proc: %d\n", memmem(text, (size_t)bytes, "DYNAMORIO", 9) != NULL);
    const char* name = strrchr((const char*)getauxval(AT_EXECFN), '/');
    printf("auxiliary: %lu %s\n", getauxval(AT_PAGESZ), name);
    fflush(stdout);
    const int status = system("env | grep -c DYNAMORIO");
    printf("of a child: %d\n", WEXITSTATUS(status));
}

static void limit_calls_by_filter(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("set: %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    static char memory[4 << 20];
    long sum = 0;
    for (size_t i = 0; i < sizeof memory; i += 512) {
        memory[i] = (char)i;
        sum += 1 + memory[i];
    }
    printf("sum: %ld\n", sum);
    const long refused = syscall(SYS_getppid);
    printf("refused: %ld %s\n", refused, strerrorname_np(errno));
}

static void limit_calls_strictly(void) {
    const pid_t child = fork();
    if (child == 0) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
            _exit(3);
        }
        static long memory[1 << 17];
        for (size_t i = 0; i < 1 << 17; ++i) {
            memory[i] = (long)i;
        }
        syscall(SYS_exit, memory[1000] == 1000 ? 11 : 12);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("exited: %d %d\n", WIFEXITED(status), WEXITSTATUS(status));
}

static char page[4096] __attribute__((aligned(4096)));

static void* fill_pages(void* argument) {
    const int file = *(int*)argument;
    for (int filled = 0; filled < 16;) {
        struct pollfd poll_file = {file, POLLIN, 0};
        struct uffd_msg message;
        if (poll(&poll_file, 1, 60000) <= 0) {
            return NULL;
        }
        if (read(file, &message, sizeof message) == sizeof message) {
            filled += 1;
            memset(page, filled, sizeof page);
            struct uffdio_copy copy = {.dst = message.arg.pagefault.address & ~4095ull,
                                       .src = (uintptr_t)page,
                                       .len = 4096};
            ioctl(file, UFFDIO_COPY, &copy);
        }
    }
    return NULL;
}

// Memory whose pages another thread of the program fills when they are touched.
static void fill_by_thread(void) {
    int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API};
    char* memory =
        mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)memory, 16 * 4096},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (file < 0 || ioctl(file, UFFDIO_API, &api) != 0 ||
        ioctl(file, UFFDIO_REGISTER, &range) != 0) {
        printf("sum: no userfaultfd\n");
        return;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, fill_pages, &file);
    int sum = 0;
    for (int i = 0; i < 16; ++i) {
        sum += memory[i * 4096 + 17];
    }
    pthread_join(thread, NULL);
    printf("sum: %d\n", sum);
}

static volatile sig_atomic_t too_large;

static void note_too_large(int number) {
    (void)number;
    too_large = too_large + 1;
}

static void* touch(void* memory) {
    *(char*)memory = 1;
    return NULL;
}

static void file_size(void) {
    const struct rlimit limit = {4096, 4096};
    signal(SIGXFSZ, note_too_large);
    setrlimit(RLIMIT_FSIZE, &limit);
    const pid_t child = fork();
    if (child == 0) {
        _exit(too_large == 0 ? 5 : 6);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child: %d\n", WEXITSTATUS(status));
    pthread_t thread;
    pthread_create(&thread, NULL, touch, page);
    pthread_join(thread, NULL);
    for (int i = 0; i < 20000; ++i) {
        free(malloc((size_t)i));
    }
    const int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    const ssize_t first = write(file, page, sizeof page);
    const ssize_t second = write(file, page, sizeof page);
    printf("written: %zd %zd %s\n", first, second, strerrorname_np(errno));
    printf("signals: %d\n", (int)too_large);
}

// The reader of a pipe learns when the last writer has closed it.
static void closed_output(void) {
    int output[2];
    int end[2];
    if (pipe(output) != 0 || pipe(end) != 0) {
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(output[1], 1);
        close(output[0]);
        close(output[1]);
        close(end[1]);
        close(1);
        char byte;
        _exit((int)read(end[0], &byte, 1));
    }
    close(output[1]);
    char byte;
    struct pollfd file = {output[0], POLLIN, 0};
    const int ready = poll(&file, 1, 60000);
    printf("ended: %d %zd\n", ready, ready == 1 ? read(output[0], &byte, 1) : -1);
    close(end[1]);
    waitpid(child, NULL, 0);
}

static const struct {
    const char* name;
    void (*run)(void);
} modes[] = {
    {"break", break_grows},
    {"valgrind", asks_for_valgrind},
    {"descriptors", descriptors},
    {"environment", environment},
    {"filter", limit_calls_by_filter},
    {"strict", limit_calls_strictly},
    {"userfault", fill_by_thread},
    {"file size", file_size},
    {"closed output", closed_output},
};

int main(int count, char* arguments[]) {
    static char output[4096];  // the C library would take it from the break
    setvbuf(stdout, output, _IOFBF, sizeof output);
    for (size_t i = 0; count > 1 && i < sizeof modes / sizeof modes[0]; ++i) {
        if (strcmp(arguments[1], modes[i].name) == 0) {
            modes[i].run();
            return 0;
        }
    }
    return 2;
}
