// SPDX-License-Identifier: Apache-2.0
//
// numascape-faults DIRECTORY --faults -- PROGRAM ARGUMENTS...
// numascape-faults DIRECTORY --clock -- PROGRAM ARGUMENTS...
// numascape-faults DIRECTORY --samples=EVENTS -- PROGRAM ARGUMENTS...
// numascape-faults DIRECTORY --pid PID SECONDS [EVENTS [--without-faults]]
// numascape-faults --try PID EVENTS
//
// Runs PROGRAM, or observes process PID for SECONDS (0: until it ends), and writes each page fault
// of it and of its children to DIRECTORY/faults. Page faults are a software event of the kernel
// (perf_event_open), with one ring buffer per CPU. With --clock, it instead writes samples of the
// threads' code addresses, at a fixed period of CPU time, to DIRECTORY/clock. With EVENTS, it also
// writes samples of accesses (`sampled` below) to DIRECTORY/faults. These events have the addresses
// of accesses, or they are the clock, from whose registers the addresses follow (clock_samples.h).
// It ends with the status of PROGRAM. With --try, it only opens the events for thread PID, and
// prints why it cannot: status 125 if it is not permitted, 1 if the kernel cannot open one at all.
//
// Exit status 125 if the kernel does not permit it (never for the clock: its file is then empty),
// 126 or 127 if PROGRAM cannot be executed or found, with one line in DIRECTORY/launch-error.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "permission.h"
#include "recording.h"

using namespace numascape;

namespace {

constexpr int kCannotRecord = 125;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
// A prime, so that it does not match a period of the program.
constexpr uint64_t kClockPeriodNs = 2000003;

std::string error_file;
volatile pid_t program = 0;

[[noreturn]] void fail(int status, const std::string& message) {
    std::ofstream(error_file) << message << '\n';
    std::exit(status);
}

[[noreturn]] void fail_without_program(const std::string& message) {
    if (program > 0) {
        kill(program, SIGKILL);
    }
    fail(kCannotRecord, message);
}

// The child waits until the events are open. Returns its process id and the end of the pipe that
// releases it.
pid_t start(char** command, int& release) {
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0) {
        fail(kCannotRecord, std::string("cannot make a pipe: ") + std::strerror(errno));
    }
    const pid_t pid = fork();
    if (pid < 0) {
        fail(kCannotRecord, std::string("cannot start a process: ") + std::strerror(errno));
    }
    if (pid == 0) {
        close(go[1]);
        char byte = 0;
        if (read(go[0], &byte, 1) != 1) {
            _exit(kCannotRecord);
        }
        close(go[0]);
        // Set only now, because only the program and its children need this library.
        if (const char* preload = std::getenv("NUMASCAPE_FAULTS_PRELOAD")) {
            setenv("LD_PRELOAD", preload, 1);
            unsetenv("NUMASCAPE_FAULTS_PRELOAD");
        }
        execvp(command[0], command);
        fail(errno == ENOENT ? kNotFound : kCannotExecute,
             "cannot run " + std::string(command[0]) + ": " + std::strerror(errno));
    }
    close(go[0]);
    release = go[1];
    return pid;
}

void send_on(int number) {
    if (program > 0) {
        kill(program, number);
    }
}

// The terminal sends its signals to the program as well.
void send_on_of_processes(int number, siginfo_t* info, void*) {
    if (info->si_code <= 0) {
        send_on(number);
    }
}

void pass_signals_on() {
    struct sigaction action{};
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    action.sa_sigaction = send_on_of_processes;
    for (const int number : {SIGINT, SIGQUIT}) {
        sigaction(number, &action, nullptr);
    }
    action.sa_flags = SA_RESTART;
    action.sa_handler = send_on;
    for (const int number : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
        sigaction(number, &action, nullptr);
    }
}

[[noreturn]] void end_as(int status) {
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        kill(getpid(), WTERMSIG(status));
        pause();
    }
    std::exit(WEXITSTATUS(status));
}

// Set by the signals that end the recording.
volatile sig_atomic_t stopped = 0;
void stop(int) {
    stopped = 1;
}

// Exits with one line when the kernel does not allow it, unless `optional`.
void add_events(Recording& recording, const std::vector<pid_t>& threads, const Wanted& wanted,
                bool optional, const char* what) {
    const bool in_bursts = 0 < wanted.period_in_bursts && wanted.period_in_bursts < wanted.period;
    const int error = in_bursts ? recording.open_in_bursts(threads.front(), wanted)
                                : recording.open(threads, wanted);
    if (error != 0 && !optional) {
        fail_without_program(recording.why_refused(error, threads.front(), wanted, what));
    }
}

// Events with the addresses of accesses, in the words
// TYPE:CONFIG:CONFIG1:PRECISE:FREQUENCY:PERIOD:PERIOD_OF_THREADS:FILTER:LEADER:PERIOD_IN_BURSTS:STACK,
// separated by commas; the fields are those of Wanted. A frequency of 0 means that the period
// counts.
std::vector<Wanted> sampled(const std::string& words, bool from_exec) {
    std::vector<Wanted> found;
    std::istringstream all(words);
    for (std::string word; std::getline(all, word, ',');) {
        Wanted wanted{0, 0, from_exec, false, pages_of_several_rings()};
        wanted.kind = FaultKind::kSample;
        std::istringstream fields(word);
        char colon = 0;
        fields >> wanted.type >> colon >> wanted.event >> colon >> wanted.more >> colon >>
            wanted.precise >> colon >> wanted.frequency >> colon >> wanted.period >> colon >>
            wanted.period_of_threads >> colon >> wanted.filter >> colon >> wanted.leader >> colon >>
            wanted.period_in_bursts >> colon >> wanted.stack_bytes;
        if (fields.fail()) {
            fail(kCannotRecord, "not an event: " + word);
        }
        // The clock's samples have no address.
        wanted.of_clock =
            wanted.type == PERF_TYPE_SOFTWARE && wanted.event == PERF_COUNT_SW_TASK_CLOCK;
        found.push_back(wanted);
    }
    // A copy of the stack needs much more room than a sample without it.
    if (found.size() == 1 && found.front().stack_bytes != 0) {
        found.front().ring_pages = pages_of_two_rings();
    }
    return found;
}

// Exits with one line if the registers are wanted and the code cannot be read, which shows what
// they mean.
void check_readable(pid_t pid, const Wanted& wanted) {
    if (!wanted.of_clock) {
        return;
    }
    if (const std::string why = why_not_readable(pid); !why.empty()) {
        fail_without_program(why);
    }
}

int try_events(pid_t pid, const std::string& events) {
    Recording recording;
    for (const Wanted& wanted : sampled(events, false)) {
        const int error = recording.open({pid}, wanted);
        std::string why;
        if (error == EACCES || error == EPERM) {
            why = recording.why_refused(error, pid, wanted, "samples of accesses");
        } else if (error != 0) {
            why = std::string("the kernel does not open it: ") + std::strerror(error);
        } else if (wanted.of_clock) {
            why = why_not_readable(pid);
        }
        if (!why.empty()) {
            std::printf("%s\n", why.c_str());
            return error == 0 || error == EACCES || error == EPERM ? kCannotRecord : 1;
        }
    }
    return 0;
}

Wanted page_faults(bool from_exec, bool with_samples) {
    return {PERF_COUNT_SW_PAGE_FAULTS, 1, from_exec, true,
            with_samples ? pages_of_several_rings() : kRingPages};
}

// Records until the process ends, we are stopped, or the time is over.
int record_running(const std::string& directory, pid_t pid, double seconds,
                   const std::string& events, bool with_faults) {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    const std::vector<pid_t> threads = threads_of(pid);
    // Readable when the process has ended, even before anyone has waited for it.
    const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (threads.empty() || process < 0) {
        fail(kCannotRecord, "there is no process " + std::to_string(pid));
    }
    struct sigaction action{};
    action.sa_handler = stop;
    for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
        sigaction(number, &action, nullptr);
    }
    Recording recording;
    if (with_faults) {
        add_events(recording, threads, page_faults(false, !events.empty()), false, "page faults");
    }
    for (Wanted wanted : sampled(events, false)) {
        check_readable(pid, wanted);
        if (wanted.period_of_threads != 0) {
            if (recording.add_clock_of_cpus(pid, wanted)) {
                continue;
            }
            wanted.period = wanted.period_of_threads;
        }
        add_events(recording, threads, wanted, false, "samples of accesses");
    }
    if (events.empty() && kernel_balances()) {
        recording.watch_pages(pid);
    }
    recording.begin(directory + "/faults");
    std::vector<pollfd> waiting = {{process, POLLIN, 0}};
    recording.wait_on(waiting);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (stopped == 0 && waiting.front().revents == 0 &&
           (seconds == 0 || std::chrono::steady_clock::now() < end)) {
        poll(waiting.data(), waiting.size(), recording.poll_ms());
        recording.drain();
        recording.step();
    }
    recording.finish();
    return 0;
}

int record_program(const std::string& directory, const std::string& what,
                   const std::string& samples, char** command) {
    int release = -1;
    program = start(command, release);
    const bool clock = what == "--clock";
    const Wanted wanted = clock ? Wanted{PERF_COUNT_SW_TASK_CLOCK, kClockPeriodNs, true, false}
                                : page_faults(true, !samples.empty());
    Recording events;
    add_events(events, {program}, wanted, clock, "page faults");
    for (const Wanted& sample : sampled(samples, true)) {
        check_readable(getpid(), sample);
        add_events(events, {program}, sample, false, "samples of accesses");
    }
    if (!clock && samples.empty() && kernel_balances()) {
        events.watch_pages(0);
    }
    events.begin(directory + (clock ? "/clock" : "/faults"));
    std::vector<pollfd> waiting;
    events.wait_on(waiting);
    pass_signals_on();
    if (write(release, "x", 1) != 1) {
        fail(kCannotRecord, "the program did not wait for the recorder");
    }
    int status = 0;
    while (waitpid(program, &status, WNOHANG) != program) {
        poll(waiting.data(), waiting.size(), events.poll_ms());
        events.drain();
    }
    events.finish();
    end_as(status);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 2 ? argv[2] : "";
    const bool without_faults = argc == 7 && std::string_view(argv[6]) == "--without-faults";
    if (argc == 4 && std::string_view(argv[1]) == "--try") {
        return try_events(std::atoi(argv[2]), argv[3]);
    }
    if (what == "--pid" && (argc == 5 || argc == 6 || without_faults)) {
        error_file = std::string(argv[1]) + "/launch-error";
        return record_running(argv[1], std::atoi(argv[3]), std::atof(argv[4]),
                              argc >= 6 ? argv[5] : "", !without_faults);
    }
    constexpr std::string_view kSamples = "--samples=";
    const bool samples = what.starts_with(kSamples);
    if (argc < 5 || (what != "--faults" && what != "--clock" && !samples) ||
        std::strcmp(argv[3], "--") != 0) {
        std::fprintf(stderr,
                     "usage: numascape-faults DIRECTORY HOW -- PROGRAM ARGUMENTS...\n"
                     "       numascape-faults DIRECTORY --pid PID SECONDS [EVENTS "
                     "[--without-faults]]\n"
                     "       numascape-faults --try PID EVENTS\n"
                     "HOW: --faults, --clock, or --samples=EVENTS\n");
        return 2;
    }
    error_file = std::string(argv[1]) + "/launch-error";
    const std::string events = samples ? what.substr(kSamples.size()) : "";
    return record_program(argv[1], what, events, argv + 4);
}
