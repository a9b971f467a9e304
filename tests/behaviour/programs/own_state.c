// SPDX-License-Identifier: Apache-2.0
// Prints a program's own state, one "key: value" per line, in the order of the tests. With
// "repeat", it prints this again and again, with "round" before each repetition.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "rounds.h"

extern char** environ;

static void descriptors(void) {
    char target[256], path[300];
    DIR* folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
        const int descriptor = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || descriptor == dirfd(folder)) continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        const ssize_t length = readlink(path, target, sizeof target - 1);
        CHECK(length > 0);
        target[length] = 0;
        printf("descriptor %d: %s %d %#x\n", descriptor, target, fcntl(descriptor, F_GETFD),
               fcntl(descriptor, F_GETFL));
    }
    closedir(folder);
    const int next = open("/dev/null", O_RDONLY), kept = fcntl(next, F_DUPFD, 100);
    printf("descriptor next: %d, from 100 on: %d\n", next, kept);
    CHECK(close(next) == 0 && close(kept) == 0);
}

static void signals(void) {
    sigset_t blocked, pending;
    stack_t stack;
    CHECK(sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && sigpending(&pending) == 0);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        struct sigaction action;
        if (sigaction(signal, NULL, &action) != 0) continue;  // the C library's own
        printf("signal %d: %s %s%s\n", signal,
               action.sa_handler == SIG_DFL   ? "default"
               : action.sa_handler == SIG_IGN ? "ignored"
                                              : "handled",
               sigismember(&blocked, signal) ? "blocked" : "",
               sigismember(&pending, signal) ? "pending" : "");
    }
    CHECK(sigaltstack(NULL, &stack) == 0);
    printf("signal stack: %d\n", stack.ss_flags);
    for (int timer = ITIMER_REAL; timer <= ITIMER_PROF; timer++) {
        struct itimerval set;
        CHECK(getitimer(timer, &set) == 0);
        printf("signal timer %d: %ld\n", timer, (long)set.it_value.tv_sec);
    }
}

static void limits(void) {
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit;
        CHECK(getrlimit((__rlimit_resource_t)resource, &limit) == 0);
        printf("limit %d: %lx %lx\n", resource, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
    printf("limit of the C library: %ld %ld\n", sysconf(_SC_OPEN_MAX), sysconf(_SC_CHILD_MAX));
}

// A command's output; the shell's own children are this program's grandchildren.
static void by_child(const char* key, const char* command) {
    char line[1024];
    FILE* output = popen(command, "r");
    CHECK(output != NULL);
    while (fgets(line, sizeof line, output) != NULL) printf("%s: %s", key, line);
    printf("%s status: %d\n", key, pclose(output));
}

static void environment(void) {
    for (char** variable = environ; *variable != NULL; variable++)
        printf("variable: %s\n", *variable);
    by_child("variable of children", "env | sort");
}

static void children(void) {
    const pid_t child = waitpid(-1, NULL, WNOHANG);
    printf("child: %d %s\n", child, strerror(errno));
    by_child("child descriptor", "ls -l /proc/self/fd | sed -n 's/.* \\([0-9]* -> .*\\)/\\1/p'");
    by_child("child limits", "ulimit -a");
    by_child("child signals", "grep -E 'Sig(Blk|Ign|Pnd)|ShdPnd' /proc/self/status");
    by_child("child folder", "pwd; umask");
    by_child("child status", "exit 9");
}

static void text_of(const char* key, const char* path) {
    char content[1024];
    const int file = open(path, O_RDONLY);
    const ssize_t length = read(file, content, sizeof content - 1);
    CHECK(length >= 0 && close(file) == 0);
    for (int i = 0; i < length; i++)
        if (content[i] == 0) content[i] = ' ';
    content[length] = 0;
    printf("identity %s: %s%s", key, content, length && content[length - 1] == '\n' ? "" : "\n");
}

static void identity(void) {
    char target[512] = "", name[16];
    cpu_set_t allowed;
    const mode_t mask = umask(0);
    umask(mask);
    text_of("arguments", "/proc/self/cmdline");
    text_of("name", "/proc/self/comm");
    text_of("name of thread", "/proc/thread-self/comm");
    CHECK(readlink("/proc/self/exe", target, sizeof target - 1) > 0);
    printf("identity executable: %s\n", target);
    CHECK(getcwd(target, sizeof target) != NULL && prctl(PR_GET_NAME, name) == 0);
    printf("identity folder: %s, mask %o, called %s\n", target, mask, name);
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    printf("identity CPUs: %d, policy %d, nice %d, timer slack %d\n", CPU_COUNT(&allowed),
           sched_getscheduler(0), getpriority(PRIO_PROCESS, 0), prctl(PR_GET_TIMERSLACK));
    printf("identity dumpable: %d, privileges %d, filters %d\n", prctl(PR_GET_DUMPABLE),
           prctl(PR_GET_NO_NEW_PRIVS), prctl(PR_GET_SECCOMP));
    printf("identity user: %d %d, group %d %d\n", getuid(), geteuid(), getgid(), getegid());
    printf("identity personality: %#x\n", personality(0xffffffff));
    printf("identity input: %ld, terminal %d\n", (long)lseek(0, 0, SEEK_CUR), isatty(0));
}

static void threads(void) {
    int counted = 0;
    DIR* folder = opendir("/proc/self/task");
    CHECK(folder != NULL);
    for (struct dirent* entry; (entry = readdir(folder)) != NULL;)
        counted += entry->d_name[0] != '.';
    closedir(folder);
    printf("thread count: %d\n", counted);
}

static void state(void) {
    descriptors();
    signals();
    limits();
    environment();
    identity();
    threads();
    fflush(stdout);
    children();
    fflush(stdout);
}

int main(int argc, char** argv) {
    static char buffer[1 << 16];
    (void)argv;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    state();
    if (argc > 1) do {
            CHECK(write(1, "round\n", 6) == 6);
            state();
        } while (!input_has_come());
    return RIGHT;
}
