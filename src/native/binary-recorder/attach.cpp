// SPDX-License-Identifier: Apache-2.0
//
// numascape-attach HOME DIRECTORY CLIENT-OPTIONS PID SECONDS
//
// Records the running process PID for SECONDS (0: until it ends), and then leaves it.
// HOME is the folder with DynamoRIO's lib64/ and our client. The shards are written to DIRECTORY.
// SIGINT, SIGTERM and SIGHUP, and the end of our parent, end the recording early.
//
// DynamoRIO's launcher library maps DynamoRIO into the stopped process and starts it there; our
// client takes over the other threads. DynamoRIO leaves on a nudge: a queued signal that it
// recognises by its contents.
//
// Exit status 0 after a recording; 1 when a thread of the process cannot be reached, so that the
// process stays under the recorder; 2 when it died meanwhile; 3 when it could not be released in
// time, or a signal ended the waiting after a minute; 125 when it cannot be recorded. The reason
// for 2 and 125 is one line in DIRECTORY/launch-error.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_checks.h"
#include "detach_request.h"
#include "dr_api.h"
#include "dr_config.h"
#include "dr_inject.h"
#include "dynamorio_settings.h"
#include "injector_calls.h"
#include "target_end.h"

namespace {

using namespace numascape;

constexpr int kNotReleased = 1;
constexpr int kDied = 2;
constexpr int kReleasedLate = 3;
constexpr int kCannotRecord = 125;
// The longest times to wait for a thread that cannot be reached, and on a busy machine for all
// threads.
constexpr int kUnreachableMilliseconds = 60000;
constexpr int kReleaseMilliseconds = 600000;
constexpr int kPollMilliseconds = 20;
// So many polls in a row must find the same thread unreachable. Every thread is unreachable for a
// moment when it reads from a disk or calls vfork.
constexpr int kUnreachablePolls = 250;

std::string error_file;

[[noreturn]] void fail(const std::string& message, int status = kCannotRecord) {
    std::ofstream(error_file) << message << '\n';
    std::exit(status);
}

std::string quoted(const std::string& text) {
    for (const char quote : {'\'', '"', '`'}) {
        if (text.find(quote) == std::string::npos) {
            return quote + text + quote;
        }
    }
    fail("the path " + text + " holds all three kinds of quotes");
}

std::string absolute(const char* path) {
    char* real = realpath(path, nullptr);
    if (real == nullptr) {
        fail(std::string(path) + ": " + std::strerror(errno));
    }
    std::string result = real;
    std::free(real);
    return result;
}

// DynamoRIO inside the process finds its options below HOME, a path of at most 260 bytes.
void write_options(const std::string& home, const std::string& directory,
                   const std::string& client_options, const Target& target) {
    if (directory.size() >= 240) {
        fail("the path " + directory + " is too long to attach from: write the trace elsewhere");
    }
    setenv("HOME", directory.c_str(), 1);
    unsetenv("DYNAMORIO_CONFIGDIR");
    // A long timeout: after it, DynamoRIO ends the process if a thread is not taken over. Such a
    // thread may only be slow.
    const std::string options =
        std::string(kDynamorioSettings) + " -takeover_timeout_ms 300000 -client_lib " +
        quoted(home + "/libnumascape_recorder.so;0;-attached -directory \"" + directory + "\" " +
               client_options);
    if (dr_register_process(target.name.c_str(), target.pid, false, home.c_str(),
                            DR_MODE_CODE_MANIPULATION, false, DR_PLATFORM_DEFAULT,
                            options.c_str()) != DR_SUCCESS) {
        fail("cannot write DynamoRIO's options into " + directory);
    }
}

struct Injected {
    const Target& target;
    std::string library;
};

bool inject_library(void* argument) {
    const auto& [target, library] = *static_cast<const Injected*>(argument);
    void* injection = nullptr;
    if (dr_inject_prepare_to_attach(target.pid, target.executable.c_str(), false, &injection) !=
            0 ||
        !dr_inject_process_inject(injection, true, library.c_str()) ||
        !dr_inject_process_run(injection)) {
        return false;
    }
    dr_inject_process_exit(injection, false);
    return true;
}

void inject(const std::string& home, const std::string& directory, const Target& target) {
    Injected injected{target, home + "/lib64/release/libdynamorio.so"};
    const std::string masks = directory + "/signal-masks";
    if (const auto untraced = watch_injection(target.pid, masks, inject_library, &injected)) {
        fail(why_not_traced(target, *untraced));
    }
}

// Waits until the process ends. False when the time (0: no limit) was over or the recording was
// ended before that.
bool ended_within(int process, double seconds, int end_signals = -1) {
    pollfd waiting[] = {{process, POLLIN, 0}, {end_signals, POLLIN, 0}};
    const int milliseconds = seconds <= 0          ? -1
                             : seconds > 2'000'000 ? 2'000'000'000
                                                   : static_cast<int>(seconds * 1000);
    return poll(waiting, std::size(waiting), milliseconds) > 0 && waiting[0].revents != 0;
}

// A descriptor that is readable once a signal has asked us to end the recording. Such a signal may
// come while we are still taking the process over; it is kept until we wait.
int catch_end_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        sigaddset(&signals, number);
    }
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor < 0) {
        fail(std::string("cannot wait for signals: ") + std::strerror(errno));
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    return descriptor;
}

bool another_signal(int end_signals) {
    signalfd_siginfo info;
    return read(end_signals, &info, sizeof info) == sizeof info;
}

enum class Released { kYes, kUnreachable, kLate, kEnded };

// DynamoRIO has left when our client is no longer mapped. On a busy machine it may still be taking
// the threads over.
Released release(int process, const Target& target, int end_signals) {
    bool sent = false;
    int unreachable = 0;
    int polls = 0;
    for (int waited = 0; waited < kReleaseMilliseconds; waited += kPollMilliseconds) {
        const int thread = sent ? 0 : release_thread(target.pid);
        sent = sent || (thread != 0 && request_detach(target.pid, thread));
        if (ended_within(process, kPollMilliseconds / 1000.0)) {
            return Released::kEnded;
        }
        if (!is_recorded(target.pid)) {
            return Released::kYes;
        }
        if (waited >= kUnreachableMilliseconds) {
            const int found = unreachable_thread(target.pid, unreachable);
            polls = found != 0 && found == unreachable ? polls + 1 : 0;
            unreachable = found;
        }
        if (polls >= kUnreachablePolls) {
            return Released::kUnreachable;
        }
        // The signal that ended the recording may come twice: to us, and to our parent, who passes
        // it on.
        if (another_signal(end_signals) && waited >= kUnreachableMilliseconds) {
            break;
        }
    }
    return Released::kLate;
}

}  // namespace

int main(int argc, char* argv[]) {
    if (argc != 6) {
        std::fputs("usage: numascape-attach HOME DIRECTORY OPTIONS PID SECONDS\n", stderr);
        return 2;
    }
    error_file = std::string(argv[2]) + "/launch-error";
    const std::string home = absolute(argv[1]);
    const std::string directory = absolute(argv[2]);
    Target target;
    const std::string reason = examine(std::atoi(argv[4]), home, directory, target);
    if (!reason.empty()) {
        fail(reason);
    }
    const int process = static_cast<int>(syscall(SYS_pidfd_open, target.pid, 0));
    if (process < 0) {
        fail("cannot watch process " + std::to_string(target.pid) + ": " + std::strerror(errno));
    }
    const int end_signals = catch_end_signals();
    write_options(home, directory, argv[3], target);
    inject(home, directory, target);
    const Released released = ended_within(process, std::atof(argv[5]), end_signals)
                                  ? Released::kEnded
                                  : release(process, target, end_signals);
    if (released == Released::kEnded) {
        const std::string death = why_died(process, target.pid, directory);
        if (!death.empty()) {
            fail(death, kDied);
        }
    }
    return released == Released::kUnreachable ? kNotReleased
           : released == Released::kLate      ? kReleasedLate
                                              : 0;
}
