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
// prints why the kernel cannot open one (status 1).
//
// Exit status 125 if the kernel does not permit it (never for the clock: its file is then empty),
// 126 or 127 if PROGRAM cannot be executed or found, with one line in DIRECTORY/launch-error.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event_ring.h"
#include "pages_in_memory.h"
#include "permission.h"

using namespace numascape;

namespace {

constexpr int kCannotRecord = 125;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
constexpr int kPollMs = 50;
constexpr int kClockPollMs = 5;
// A prime, so that it does not match a period of the program.
constexpr uint64_t kClockPeriodNs = 2000003;

std::string error_file;
volatile pid_t program = 0;

[[noreturn]] void fail(int status, const std::string& message) {
    std::ofstream(error_file) << message << '\n';
    std::exit(status);
}

[[noreturn]] void fail_to_open(int error, const char* what) {
    fail(kCannotRecord, std::string("the kernel does not report ") + what + ": " +
                            std::strerror(error) + advice_for(error));
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

std::vector<pid_t> threads_of(pid_t pid) {
    std::vector<pid_t> threads;
    std::error_code ended;
    const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
    for (const auto& each : std::filesystem::directory_iterator(tasks, ended)) {
        threads.push_back(std::atoi(each.path().filename().c_str()));
    }
    return threads;
}

// Set by the signals that end the recording.
volatile sig_atomic_t stopped = 0;
void stop(int) {
    stopped = 1;
}

// Writes the events of threads and their children into a file.
class Recording {
  public:
    // Exits with one line when the kernel does not allow it, unless `optional`.
    void add(const std::vector<pid_t>& threads, const Wanted& wanted, bool optional,
             const char* what) {
        const int error = open(threads, wanted);
        if (error != 0 && !optional) {
            if (program > 0) {
                kill(program, SIGKILL);
            }
            fail_to_open(error, what);
        }
    }
    // Samples the clock of each CPU, and keeps the samples of this process. With events of threads,
    // the kernel would have work at every switch of a CPU between threads. False if this user may
    // only observe threads.
    bool add_clock_of_cpus(pid_t process, Wanted wanted) {
        wanted.event = PERF_COUNT_SW_CPU_CLOCK;
        wanted.only = static_cast<uint32_t>(process);
        return open({kAllThreads}, wanted) == 0;
    }
    // Called after the events are open, because the file says that recording has begun.
    void begin(const std::string& path) {
        file_.open(path, std::ios::binary);
        std::memcpy(header_.magic, kFaultMagic, sizeof header_.magic);
        file_.write(reinterpret_cast<const char*>(&header_), sizeof header_);
    }
    // Also records which pages are in memory, to distinguish hinting faults from first touches.
    // `running` is the process that already runs, or 0.
    void watch_pages(pid_t running) {
        watched_.emplace();
        if (running != 0) {
            watched_->look_at_all_of(static_cast<uint32_t>(running));
        }
    }
    int poll_ms() const { return poll_ms_; }
    void wait_on(std::vector<pollfd>& waiting) const {
        for (const Ring& ring : rings_) {
            waiting.push_back({ring.file(), POLLIN, 0});
        }
    }
    void drain() {
        entries_.clear();
        const uint64_t began = realtime_ns();
        clock_samples_.begin_round();
        for (Ring& ring : rings_) {
            header_.lost += ring.drain(entries_, clock_samples_);
        }
        // The next poll comes soon after samples of the clock, because their accesses are read from
        // memory.
        poll_ms_ = !with_registers_    ? kPollMs
                   : !entries_.empty() ? kClockPollMs
                                       : std::min(2 * poll_ms_, kPollMs);
        if (watched_) {
            watched_->follow(entries_, began);
        }
        write_entries();
    }
    void finish() {
        drain();
        entries_.clear();
        clock_samples_.finish(entries_);
        write_entries();
        file_.seekp(0);
        file_.write(reinterpret_cast<const char*>(&header_), sizeof header_);
        file_.close();
    }

    // Returns 0, or the error with which the kernel refused an event. Then no event is open.
    int open(const std::vector<pid_t>& threads, const Wanted& wanted) {
        std::vector<Ring> opened;
        bool is_missing = false;
        for (int cpu = 0; cpu < static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)); ++cpu) {
            Ring ring(cpu, threads.front(), wanted);
            if (ring.opened()) {
                for (size_t i = 1; i < threads.size(); ++i) {
                    ring.add(threads[i]);
                }
                opened.push_back(ring);
            } else if (errno == ENOENT) {  // this CPU is of another kind, without the event
                is_missing = true;
            } else if (errno != ENODEV) {  // ENODEV: the CPU is off
                const int error = errno;
                std::for_each(opened.begin(), opened.end(), [](Ring& r) { r.close_events(); });
                return error;
            }
        }
        if (is_missing && opened.empty()) {
            return ENOENT;
        }
        with_registers_ = with_registers_ || wanted.with_registers;
        rings_.insert(rings_.end(), opened.begin(), opened.end());
        return 0;
    }

  private:
    void write_entries() {
        file_.write(reinterpret_cast<const char*>(entries_.data()),
                    static_cast<std::streamsize>(entries_.size() * sizeof(FaultEntry)));
        file_.flush();
    }

    std::ofstream file_;
    FaultHeader header_{};
    std::vector<Ring> rings_;
    std::vector<FaultEntry> entries_;
    std::optional<WatchedProcesses> watched_;
    ClockSamples clock_samples_;
    bool with_registers_ = false;
    int poll_ms_ = kClockPollMs;
};

// Events with the addresses of accesses, in the words
// TYPE:CONFIG:CONFIG1:PRECISE:FREQUENCY:PERIOD:PERIOD_OF_THREADS:FILTER:LEADER, separated by
// commas; the fields are those of Wanted. A frequency of 0 means that the period counts.
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
            wanted.period_of_threads >> colon >> wanted.filter >> colon >> wanted.leader;
        if (fields.fail()) {
            fail(kCannotRecord, "not an event: " + word);
        }
        // The clock's samples have no address.
        wanted.with_registers =
            wanted.type == PERF_TYPE_SOFTWARE && wanted.event == PERF_COUNT_SW_TASK_CLOCK;
        found.push_back(wanted);
    }
    return found;
}

// A user without permission for any event learns this from the recording.
int try_events(pid_t pid, const std::string& events) {
    Recording recording;
    for (const Wanted& wanted : sampled(events, false)) {
        const int error = recording.open({pid}, wanted);
        if (error != 0 && error != EACCES && error != EPERM) {
            std::printf("the kernel does not open it: %s\n", std::strerror(error));
            return 1;
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
        recording.add(threads, page_faults(false, !events.empty()), false, "page faults");
    }
    for (Wanted wanted : sampled(events, false)) {
        if (wanted.period_of_threads != 0) {
            if (recording.add_clock_of_cpus(pid, wanted)) {
                continue;
            }
            wanted.period = wanted.period_of_threads;
        }
        recording.add(threads, wanted, false, "samples of accesses");
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
    events.add({program}, wanted, clock, "page faults");
    for (const Wanted& sample : sampled(samples, true)) {
        events.add({program}, sample, false, "samples of accesses");
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
