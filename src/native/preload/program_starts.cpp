// SPDX-License-Identifier: Apache-2.0
#include "program_starts.h"

#include <cstdarg>
#include <cstdlib>

#include <spawn.h>
#include <unistd.h>

#include "child_environment.h"
#include "next_function.h"
#include "shell_commands.h"

namespace numascape {
namespace {

using Strings = char* const*;

struct Starts {
    int (*execve)(const char*, Strings, Strings);
    int (*execvpe)(const char*, Strings, Strings);
    int (*fexecve)(int, Strings, Strings);
    int (*execveat)(int, const char*, Strings, Strings, int);
    int (*spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                 Strings, Strings);
    int (*spawnp)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  Strings, Strings);
};
Starts starts;

const Starts& real() {
    if (__builtin_expect(starts.spawnp == nullptr, 0)) {
        find_program_starts();
    }
    return starts;
}

// `run(environment)` executes the program, and returns when that failed.
template <typename Run>
int become(Strings environment, Run run) {
    const bool ours = program_begins();
    const int result = child_environment.with(environment, run);
    if (ours) {
        program_failed();
    }
    return result;
}

size_t count_arguments(const char* first, va_list from) {
    va_list arguments;
    va_copy(arguments, from);
    size_t count = 0;
    for (const char* each = first; each != nullptr; each = va_arg(arguments, const char*)) {
        ++count;
    }
    va_end(arguments);
    return count;
}

// Puts the first argument, the further ones and a null pointer into `out`.
void collect_arguments(char** out, const char* first, va_list& from) {
    *out = const_cast<char*>(first);
    while (*out != nullptr) {
        *++out = va_arg(from, char*);
    }
}

}  // namespace

void find_program_starts() {
    find_next(starts.execve, "execve");
    find_next(starts.execvpe, "execvpe");
    find_next(starts.fexecve, "fexecve");
    find_next(starts.execveat, "execveat");
    find_next(starts.spawn, "posix_spawn");
    find_next(starts.spawnp, "posix_spawnp");
    find_shell_functions();
}

}  // namespace numascape

using namespace numascape;

#define REPLACED(result, name, parameters) \
    extern "C" __attribute__((visibility("default"))) result name parameters

REPLACED(int, execve, (const char* path, Strings arguments, Strings environment)) {
    return become(environment,
                  [&](Strings merged) { return real().execve(path, arguments, merged); });
}

REPLACED(int, execv, (const char* path, Strings arguments)) {
    return execve(path, arguments, environ);
}

REPLACED(int, execvpe, (const char* file, Strings arguments, Strings environment)) {
    return become(environment,
                  [&](Strings merged) { return real().execvpe(file, arguments, merged); });
}

REPLACED(int, execvp, (const char* file, Strings arguments)) {
    return execvpe(file, arguments, environ);
}

REPLACED(int, fexecve, (int file, Strings arguments, Strings environment)) {
    return become(environment,
                  [&](Strings merged) { return real().fexecve(file, arguments, merged); });
}

REPLACED(int, execveat,
         (int folder, const char* path, Strings arguments, Strings environment, int flags)) {
    return become(environment, [&](Strings merged) {
        return real().execveat(folder, path, arguments, merged, flags);
    });
}

// `arguments`: the arguments of a variadic function from `first` on, as an array. `list` contains
// those after it.
#define COLLECT(first)                                                                     \
    va_list list;                                                                          \
    va_start(list, first);                                                                 \
    const size_t count = count_arguments(first, list);                                     \
    auto** arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
    collect_arguments(arguments, first, list)

REPLACED(int, execl, (const char* path, const char* first, ...)) {
    COLLECT(first);
    va_end(list);
    return execve(path, arguments, environ);
}

REPLACED(int, execlp, (const char* file, const char* first, ...)) {
    COLLECT(first);
    va_end(list);
    return execvpe(file, arguments, environ);
}

REPLACED(int, execle, (const char* path, const char* first, ...)) {
    COLLECT(first);
    auto environment = va_arg(list, Strings);
    va_end(list);
    return execve(path, arguments, environment);
}

REPLACED(int, posix_spawn,
         (pid_t * process, const char* path, const posix_spawn_file_actions_t* actions,
          const posix_spawnattr_t* attributes, Strings arguments, Strings environment)) {
    return child_environment.with(environment, [&](Strings merged) {
        return real().spawn(process, path, actions, attributes, arguments, merged);
    });
}

REPLACED(int, posix_spawnp,
         (pid_t * process, const char* file, const posix_spawn_file_actions_t* actions,
          const posix_spawnattr_t* attributes, Strings arguments, Strings environment)) {
    return child_environment.with(environment, [&](Strings merged) {
        return real().spawnp(process, file, actions, attributes, arguments, merged);
    });
}
