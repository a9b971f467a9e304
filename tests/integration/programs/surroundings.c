// SPDX-License-Identifier: Apache-2.0
// Checks what a process sees of itself. Modes:
//   look    prints LD_PRELOAD and Numascape's variables of the environment, its open descriptors,
//           the next one, the signals that it blocks, ignores and handles, its limits; and what a
//           child sees
//   close   closes all descriptors but the first three, writes a file of its own while it touches
//           new pages, and prints "right" when that file has what it wrote
//   strict  a child gives up all system calls but four, touches pages, and ends
//   filter  the same with a filter of its own, which kills for any other call; prints "right" when
//           the child ended by itself, and had written what it should
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 20000, BYTES = 1 << 20 };
extern char** environ;

static void print_variables(void) {
    for (char** at = environ; *at != NULL; at++) {
        if (strstr(*at, "umascape") || strstr(*at, "NUMASCAPE") || strstr(*at, "LD_PRELOAD")) {
            puts(*at);
        }
    }
}

static void look(void) {
    char line[256];
    print_variables();
    printf("next %d\n", open("/dev/null", O_RDONLY));
    FILE* status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "SigIgn", 6) == 0) {
            // The state of the C library's own signals, 32 and 33, comes from the parent's threads.
            const unsigned long ignored = strtoul(line + 7, NULL, 16);
            printf("ignored %lx\n", ignored & ~(3UL << 31));
            fprintf(stderr, "of the C library %lx\n", ignored & 3UL << 31);
        } else if (strncmp(line, "Sig", 3) == 0 && strncmp(line, "SigQ", 4) != 0) {
            fputs(line, stdout);
        }
        if (strncmp(line, "Threads", 7) == 0) fputs(line, stdout);
    }
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        getrlimit((__rlimit_resource_t)i, &limit);
        printf("limit %lx %lx\n", (long)limit.rlim_cur, (long)limit.rlim_max);
    }
}

static int close_all(const char* path) {
    closefrom(3);
    int files[32];
    for (int i = 0; i < 32; i++) files[i] = open(path, O_RDWR | O_CREAT, 0600);
    for (int number = 900; number < 1024; number++) dup2(files[0], number);
    char* written = malloc(BYTES);
    char* found = malloc(BYTES);
    for (int i = 0; i < BYTES; i++) written[i] = (char)(i % 251);
    if (write(files[0], written, BYTES) != BYTES) return 0;
    volatile char* pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (long i = 0; i < PAGES; i++) pages[i * PAGE] = 1;
    const long end = lseek(files[0], 0, SEEK_END);
    if (end != BYTES || pread(files[0], found, BYTES, 0) != BYTES) return 0;
    return memcmp(written, found, BYTES) == 0;
}

static int give_up(int strict) {
    struct sock_filter allowed[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof allowed / sizeof *allowed, allowed};
    if (strict) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

static long given[16 * PAGE] __attribute__((aligned(4096)));

static int run_restricted(int strict) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        long sum = 0;
        if (give_up(strict) != 0) _exit(3);
        for (long i = 0; i < 16 * PAGE; i++) given[i] = i;
        for (long i = 0; i < 16 * PAGE; i++) sum += given[i];
        syscall(SYS_exit, sum == 16L * PAGE * (16L * PAGE - 1) / 2 ? 5 : 4);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5;
}

int main(int argc, char** argv) {
    const int strict = argc > 1 && strcmp(argv[1], "strict") == 0;
    if (strict || (argc > 1 && strcmp(argv[1], "filter") == 0)) {
        const int right = run_restricted(strict);
        puts(right ? "right" : "wrong");
        return right ? 7 : 1;
    }
    if (argc > 2 && strcmp(argv[1], "close") == 0) {
        const int right = close_all(argv[2]);
        puts(right ? "right" : "wrong");
        return right ? 7 : 1;
    }
    look();
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "look") == 0) {
        char* const again[] = {argv[0], "again", NULL};
        pid_t child = fork();
        if (child == 0) {
            execv(argv[0], again);
            _exit(3);
        }
        waitpid(child, NULL, 0);
    }
    return 7;
}
