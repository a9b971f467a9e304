// SPDX-License-Identifier: Apache-2.0
// To be attached to. At a byte it forks; at the next one the child, which has waited, executes
// another program. Exit status 42 on success.
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int ends[2], status;
    char byte;
    signal(SIGUSR1, SIG_IGN);
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("ready");
    if (pipe(ends) != 0 || read(0, &byte, 1) != 1) return 1;
    const pid_t child = fork();
    if (child == 0) {
        if (read(ends[0], &byte, 1) == 1) execl("/bin/echo", "echo", "right", (char*)NULL);
        _exit(1);
    }
    puts("forked");
    if (read(0, &byte, 1) != 1 || write(ends[1], "x", 1) != 1) return 1;
    return waitpid(child, &status, 0) == child && status == 0 ? 42 : 1;
}
