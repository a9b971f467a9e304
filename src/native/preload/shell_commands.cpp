// SPDX-License-Identifier: Apache-2.0
#include "shell_commands.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "next_function.h"
#include "os.h"
#include "spin_lock.h"

namespace numascape {
namespace {

using Action = struct sigaction;

struct ShellFunctions {
    int (*system)(const char*);
    int (*pclose)(FILE*);
    int (*fclose)(FILE*);
    int (*sigaction)(int, const Action*, Action*);
    int (*pthread_sigmask)(int, const sigset_t*, sigset_t*);
};
ShellFunctions functions;

const ShellFunctions& shell_functions() {
    if (__builtin_expect(functions.pthread_sigmask == nullptr, 0)) {
        find_shell_functions();
    }
    return functions;
}

// Returns an error number.
int start_shell(const char* command, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, pid_t& shell) {
    char name[] = "sh";
    char option[] = "-c";
    char* arguments[] = {name, option, const_cast<char*>(command), nullptr};
    return posix_spawn(&shell, "/bin/sh", actions, attributes, arguments, environ);
}

int wait_for(pid_t shell) {
    int status = 0;
    while (waitpid(shell, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return status;
}

// While a shell of system(3) runs, the process ignores SIGINT and SIGQUIT.
SpinLock ignoring;
int ignoring_calls = 0;
Action action_of_interrupt;
Action action_of_quit;

// The signals that a call of system(3) has changed, and what the shell gets.
class ShellSignals {
  public:
    ShellSignals() {
        Action ignore{};
        ignore.sa_handler = SIG_IGN;
        sigset_t children;
        sigemptyset(&children);
        sigaddset(&children, SIGCHLD);
        shell_functions().pthread_sigmask(SIG_BLOCK, &children, &mask_);
        sigemptyset(&defaults_);
        SpinGuard guard(ignoring);
        if (ignoring_calls++ == 0) {
            shell_functions().sigaction(SIGINT, &ignore, &action_of_interrupt);
            shell_functions().sigaction(SIGQUIT, &ignore, &action_of_quit);
        }
        if (action_of_interrupt.sa_handler != SIG_IGN) {
            sigaddset(&defaults_, SIGINT);
        }
        if (action_of_quit.sa_handler != SIG_IGN) {
            sigaddset(&defaults_, SIGQUIT);
        }
    }
    void restore() {
        {
            SpinGuard guard(ignoring);
            if (--ignoring_calls == 0) {
                shell_functions().sigaction(SIGINT, &action_of_interrupt, nullptr);
                shell_functions().sigaction(SIGQUIT, &action_of_quit, nullptr);
            }
        }
        shell_functions().pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    }
    int start(const char* command, pid_t& shell) const {
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setsigmask(&attributes, &mask_);
        posix_spawnattr_setsigdefault(&attributes, &defaults_);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
        const int error = start_shell(command, nullptr, &attributes, shell);
        posix_spawnattr_destroy(&attributes);
        return error;
    }

  private:
    sigset_t mask_;
    sigset_t defaults_;
};

struct CancelledCommand {
    ShellSignals* signals;
    pid_t shell;
};

void cancel_command(void* argument) {
    auto& cancelled = *static_cast<CancelledCommand*>(argument);
    kill(cancelled.shell, SIGKILL);
    int state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    wait_for(cancelled.shell);
    pthread_setcancelstate(state, nullptr);
    cancelled.signals->restore();
}

int wait_for_command(ShellSignals& signals, pid_t shell) {
    CancelledCommand cancelled{&signals, shell};
    int status = 0;
    pthread_cleanup_push(cancel_command, &cancelled);
    status = wait_for(shell);
    pthread_cleanup_pop(0);
    return status;
}

// The streams of popen(3) that are open. Each change of the list is one store, so a child of a fork
// has a complete list at any time.
struct OpenCommand {
    FILE* stream;
    pid_t shell;
    std::atomic<OpenCommand*> next;
};
SpinLock opening;
std::atomic<OpenCommand*> open_commands{nullptr};

OpenCommand* take_command(const FILE* stream) {
    SpinGuard guard(opening);
    for (auto* at = &open_commands; at->load() != nullptr; at = &at->load()->next) {
        OpenCommand* command = at->load();
        if (command->stream == stream) {
            at->store(command->next.load());
            return command;
        }
    }
    return nullptr;
}

// In the child of a fork: the threads that held them do not exist any more.
void free_locks() {
    ignoring.reset();
    opening.reset();
}

// Pre: `command` was taken.
int close_command(OpenCommand* command) {
    const pid_t shell = command->shell;
    const int closed = shell_functions().fclose(command->stream);
    free(command);
    int state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    const int status = wait_for(shell);
    pthread_setcancelstate(state, nullptr);
    return closed == 0 || status < 0 ? status : -1;
}

struct PipeMode {
    bool is_valid;
    bool reads;
    bool closes_on_execution;
};

PipeMode pipe_mode(const char* mode) {
    int reads = 0;
    int writes = 0;
    bool closes = false;
    for (; *mode != '\0'; ++mode) {
        if (*mode == 'r') {
            reads = 1;
        } else if (*mode == 'w') {
            writes = 1;
        } else if (*mode == 'e') {
            closes = true;
        } else {
            return {};
        }
    }
    return {reads != writes, reads == 1, closes};
}

// The command gets `end` as its standard input or output, and no other pipe of popen. Adds
// `opened` to the list. Returns an error number.
int start_in_pipe(const char* command, int end, int standard, OpenCommand* opened) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, end, standard);
    SpinGuard guard(opening);
    for (const OpenCommand* each = open_commands.load(); each != nullptr;
         each = each->next.load()) {
        if (fileno(each->stream) != standard) {
            posix_spawn_file_actions_addclose(&actions, fileno(each->stream));
        }
    }
    const int error = start_shell(command, &actions, nullptr, opened->shell);
    posix_spawn_file_actions_destroy(&actions);
    if (error == 0) {
        opened->next.store(open_commands.load());
        open_commands.store(opened);
    }
    return error;
}

// Pre: `pipe` is open. Closes what is not needed.
FILE* open_command(const char* command, const PipeMode& mode, const int (&pipe)[2],
                   OpenCommand* opened) {
    const int ours = pipe[mode.reads ? 0 : 1];
    const int shells = pipe[mode.reads ? 1 : 0];
    opened->stream = fdopen(ours, mode.reads ? "r" : "w");
    const int error = opened->stream == nullptr
                          ? errno
                          : start_in_pipe(command, shells, mode.reads ? 1 : 0, opened);
    close(shells);
    if (error != 0) {
        opened->stream == nullptr ? close(ours) : shell_functions().fclose(opened->stream);
        errno = error;
        return nullptr;
    }
    if (!mode.closes_on_execution) {
        fcntl(ours, F_SETFD, 0);
    }
    return opened->stream;
}

}  // namespace

void find_shell_functions() {
    find_next(functions.system, "system");
    find_next(functions.pclose, "pclose");
    find_next(functions.fclose, "fclose");
    find_next(functions.sigaction, "sigaction");
    find_next(functions.pthread_sigmask, "pthread_sigmask");
    pthread_atfork(nullptr, nullptr, free_locks);
}

}  // namespace numascape

using namespace numascape;

#pragma GCC visibility push(default)
extern "C" {

int system(const char* command) {
    if (command == nullptr) {
        return shell_functions().system(command);
    }
    ShellSignals signals;
    pid_t shell = -1;
    const int error = signals.start(command, shell);
    const int status = error == 0 ? wait_for_command(signals, shell) : 127 << 8;
    signals.restore();
    if (error != 0) {
        errno = error;
    }
    return status;
}

FILE* popen(const char* command, const char* mode) {
    const PipeMode wanted = pipe_mode(mode);
    if (!wanted.is_valid) {
        errno = EINVAL;
        return nullptr;
    }
    void* memory = malloc(sizeof(OpenCommand));
    if (memory == nullptr) {
        return nullptr;
    }
    auto* opened = new (memory) OpenCommand{};
    int pipe[2];
    FILE* stream =
        pipe2(pipe, O_CLOEXEC) == 0 ? open_command(command, wanted, pipe, opened) : nullptr;
    if (stream == nullptr) {
        const int error = errno;
        free(opened);
        errno = error;
    }
    return stream;
}

int pclose(FILE* stream) {
    OpenCommand* command = take_command(stream);
    return command == nullptr ? shell_functions().pclose(stream) : close_command(command);
}

// As the C library's, also for a stream of popen.
int fclose(FILE* stream) {
    OpenCommand* command = open_commands.load() == nullptr ? nullptr : take_command(stream);
    return command == nullptr ? shell_functions().fclose(stream) : close_command(command);
}

}  // extern "C"
#pragma GCC visibility pop
