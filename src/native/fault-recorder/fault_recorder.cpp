// SPDX-License-Identifier: Apache-2.0
//
// numascape-faults DIRECTORY -- PROGRAM ARGUMENTS...
//
// Runs PROGRAM and writes each of its page faults, and its children's, to DIRECTORY/faults: a
// software event of the kernel (perf_event_open), one ring buffer per CPU. Ends as PROGRAM does.
//
// Exit status 125 when the kernel does not let us, 126 and 127 when PROGRAM cannot be executed or
// found, with one line in DIRECTORY/launch-error.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_log.h"

using namespace numascape;

namespace {

constexpr int kCannotRecord = 125;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
// What perf_event_mlock_kb allows a user for each CPU by default, 516 KiB, is this and the header.
constexpr size_t kRingPages = 128;
constexpr int kPollMs = 50;

std::string error_file;
volatile pid_t program = 0;

[[noreturn]] void fail(int status, const std::string& message) {
    std::ofstream(error_file) << message << '\n';
    std::exit(status);
}

size_t page_bytes() {
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// The sample as `sample_type` below lays it out.
struct Sample {
    perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time;
    uint64_t address;
    uint32_t cpu, reserved;
};

struct Lost {
    perf_event_header header;
    uint64_t id;
    uint64_t lost;
};

class Ring {
  public:
    Ring(int cpu, pid_t pid) {
        perf_event_attr wanted{};
        wanted.type = PERF_TYPE_SOFTWARE;
        wanted.size = sizeof wanted;
        wanted.config = PERF_COUNT_SW_PAGE_FAULTS;
        wanted.sample_period = 1;
        wanted.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                             PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
        wanted.inherit = 1;
        wanted.disabled = 1;
        wanted.enable_on_exec = 1;
        wanted.exclude_hv = 1;
        wanted.use_clockid = 1;
        wanted.clockid = CLOCK_REALTIME;
        wanted.watermark = 1;
        wanted.wakeup_watermark = static_cast<uint32_t>(kRingPages * page_bytes() / 4);
        const auto open = [&] {
            return static_cast<int>(
                syscall(SYS_perf_event_open, &wanted, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
        };
        file_ = open();
        if (file_ < 0 && errno == EACCES) {
            wanted.exclude_kernel = 1;  // then without what system calls touch
            file_ = open();
        }
        if (file_ < 0) {
            return;
        }
        void* mapped = mmap(nullptr, (1 + kRingPages) * page_bytes(), PROT_READ | PROT_WRITE,
                            MAP_SHARED, file_, 0);
        header_ = mapped == MAP_FAILED ? nullptr : static_cast<perf_event_mmap_page*>(mapped);
    }
    bool opened() const { return header_ != nullptr; }
    int file() const { return file_; }

    // Appends what is there; returns the faults that were lost.
    uint64_t drain(std::vector<FaultEntry>& out) {
        const char* data = reinterpret_cast<const char*>(header_) + page_bytes();
        const size_t bytes = kRingPages * page_bytes();
        const uint64_t head = __atomic_load_n(&header_->data_head, __ATOMIC_ACQUIRE);
        uint64_t tail = header_->data_tail;
        uint64_t lost = 0;
        while (tail < head) {
            char room[sizeof(Sample) + 64];
            const auto* header = reinterpret_cast<const perf_event_header*>(data + tail % bytes);
            const size_t size = header->size;
            for (size_t i = 0; i < size && i < sizeof room; ++i) {  // it may wrap around
                room[i] = data[(tail + i) % bytes];
            }
            if (header->type == PERF_RECORD_SAMPLE && size >= sizeof(Sample)) {
                Sample sample;
                std::memcpy(&sample, room, sizeof sample);
                out.push_back({sample.time, sample.address, sample.ip, sample.pid, sample.tid,
                               sample.cpu, 0});
            } else if (header->type == PERF_RECORD_LOST && size >= sizeof(Lost)) {
                Lost record;
                std::memcpy(&record, room, sizeof record);
                lost += record.lost;
            }
            tail += size;
        }
        __atomic_store_n(&header_->data_tail, tail, __ATOMIC_RELEASE);
        return lost;
    }

  private:
    int file_ = -1;
    perf_event_mmap_page* header_ = nullptr;
};

[[noreturn]] void fail_to_open(int error) {
    std::string level = "?";
    std::getline(std::ifstream("/proc/sys/kernel/perf_event_paranoid"), level);
    const std::string advice = error == EACCES || error == EPERM
                                   ? " (kernel.perf_event_paranoid is " + level +
                                         "; as root: sysctl kernel.perf_event_paranoid=2)"
                                   : "";
    fail(kCannotRecord,
         std::string("the kernel does not report page faults: ") + std::strerror(error) + advice);
}

// The child waits until the events are there. Returns its process id and the end to release it by.
pid_t start(char** command, int& release) {
    int go[2];
    int failed[2];
    if (pipe(go) != 0 || pipe(failed) != 0) {
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
        // Ours alone need it, and only from here on.
        if (const char* preload = std::getenv("NUMASCAPE_FAULTS_PRELOAD")) {
            setenv("LD_PRELOAD", preload, 1);
            unsetenv("NUMASCAPE_FAULTS_PRELOAD");
        }
        execvp(command[0], command);
        fail(errno == ENOENT ? kNotFound : kCannotExecute,
             "cannot run " + std::string(command[0]) + ": " + std::strerror(errno));
    }
    close(go[0]);
    close(failed[0]);
    close(failed[1]);
    release = go[1];
    return pid;
}

void send_on(int number) {
    if (program > 0) {
        kill(program, number);
    }
}

void pass_signals_on() {
    struct sigaction action{};
    action.sa_flags = SA_RESTART;
    action.sa_handler = SIG_IGN;  // the terminal sends these to the program as well
    for (const int number : {SIGINT, SIGQUIT}) {
        sigaction(number, &action, nullptr);
    }
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

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4 || std::strcmp(argv[2], "--") != 0) {
        std::fprintf(stderr, "usage: numascape-faults DIRECTORY -- PROGRAM ARGUMENTS...\n");
        return 2;
    }
    const std::string directory = argv[1];
    error_file = directory + "/launch-error";
    int release = -1;
    program = start(argv + 3, release);
    std::vector<Ring> rings;
    std::vector<pollfd> waiting;
    for (int cpu = 0; cpu < static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)); ++cpu) {
        Ring ring(cpu, program);
        if (ring.opened()) {
            waiting.push_back({ring.file(), POLLIN, 0});
            rings.push_back(ring);
        } else if (errno != ENODEV) {  // a CPU that is off
            const int error = errno;
            kill(program, SIGKILL);
            fail_to_open(error);
        }
    }
    std::ofstream file(directory + "/faults", std::ios::binary);
    FaultHeader header{};
    std::memcpy(header.magic, kFaultMagic, sizeof header.magic);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    pass_signals_on();
    if (write(release, "x", 1) != 1) {
        fail(kCannotRecord, "the program did not wait");
    }
    std::vector<FaultEntry> entries;
    const auto drain = [&] {
        entries.clear();
        for (Ring& ring : rings) {
            header.lost += ring.drain(entries);
        }
        file.write(reinterpret_cast<const char*>(entries.data()),
                   static_cast<std::streamsize>(entries.size() * sizeof(FaultEntry)));
    };
    int status = 0;
    while (waitpid(program, &status, WNOHANG) != program) {
        poll(waiting.data(), waiting.size(), kPollMs);
        drain();
    }
    drain();
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.close();
    end_as(status);
}
