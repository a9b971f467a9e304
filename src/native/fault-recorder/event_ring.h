// SPDX-License-Identifier: Apache-2.0
//
// Samples of an event of the kernel or the processor, from one CPU's ring buffer
// (perf_event_open(2)).
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock_samples.h"
#include "fault_log.h"
#include "sampled_registers.h"

namespace numascape {

// With the header, this is the default limit of perf_event_mlock_kb per CPU for a user, 516 KiB.
inline constexpr size_t kRingPages = 128;
// Several buffers per CPU share this limit. Root has no limit.
inline constexpr size_t kSmallRingPages = 32;
inline size_t pages_of_several_rings() {
    return geteuid() == 0 ? kRingPages : kSmallRingPages;
}

inline size_t page_bytes() {
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// The sample as `sample_type` below lays it out. If registers are wanted, they follow.
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

struct Forked {
    perf_event_header header;
    uint32_t pid, parent_pid, tid, parent_tid;
    uint64_t time;
};

// Followed by the thread's name. The record ends with a NamedEnd.
struct Named {
    perf_event_header header;
    uint32_t pid, tid;
};
struct NamedEnd {
    uint64_t time;
    uint32_t cpu, reserved;
};

// Describes the events that the kernel is to report.
struct Wanted {
    uint64_t event;   // PERF_COUNT_SW_..., or the configuration of another `type`
    uint64_t period;  // events, or ns of the clock
    bool from_exec;
    bool processes;  // also record forks and executions of programs
    size_t ring_pages = kRingPages;
    uint32_t type = PERF_TYPE_SOFTWARE;
    uint64_t more = 0;       // config1
    uint32_t precise = 0;    // precise_ip: 2 if the address must be that of the counted instruction
    uint64_t frequency = 0;  // per second, instead of the period
    FaultKind kind = FaultKind::kFault;
    bool with_registers = false;  // with the registers of the program (clock_samples.h)
    // For the clock of a running process: the period if the kernel permits sampling of its threads,
    // but not of each CPU.
    uint64_t period_of_threads = 0;
    uint32_t only = 0;  // leaves out samples of all processes but this one; 0: none left out
};

inline constexpr pid_t kAllThreads = -1;

// The events of some threads on one CPU.
class Ring {
  public:
    Ring(int cpu, pid_t thread, const Wanted& wanted) : cpu_(cpu), wanted_(wanted) {
        file_ = open_event(thread);
        if (file_ < 0) {
            return;
        }
        void* mapped = mmap(nullptr, (1 + wanted_.ring_pages) * page_bytes(),
                            PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        if (mapped == MAP_FAILED) {
            const int error = errno;
            close(file_);
            errno = error;
            return;
        }
        header_ = static_cast<perf_event_mmap_page*>(mapped);
    }
    // Also puts the events of another thread into this buffer; false if that thread has ended.
    bool add(pid_t thread) {
        const int event = open_event(thread);
        return event >= 0 && ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, file_) == 0;
    }
    bool opened() const { return header_ != nullptr; }
    int file() const { return file_; }
    void close_events() {
        munmap(header_, (1 + wanted_.ring_pages) * page_bytes());
        close(file_);
    }

    // Appends all available samples; returns how many faults were lost. `clock` makes accesses of
    // the samples that have registers.
    uint64_t drain(std::vector<FaultEntry>& out, ClockSamples& clock) {
        const char* data = reinterpret_cast<const char*>(header_) + page_bytes();
        const size_t bytes = wanted_.ring_pages * page_bytes();
        const uint64_t head = __atomic_load_n(&header_->data_head, __ATOMIC_ACQUIRE);
        uint64_t tail = header_->data_tail;
        uint64_t lost = 0;
        while (tail < head) {
            char room[sizeof(Sample) + sizeof(RecordedRegisters) + 64];
            const char* record = data + tail % bytes;
            const size_t size = reinterpret_cast<const perf_event_header*>(record)->size;
            const size_t known = std::min(size, sizeof room);
            const size_t to_end = std::min(known, bytes - tail % bytes);
            std::memcpy(room, record, to_end);
            std::memcpy(room + to_end, data, known - to_end);  // it may wrap around
            lost += read_record(room, known, out, clock);
            tail += size;
        }
        __atomic_store_n(&header_->data_tail, tail, __ATOMIC_RELEASE);
        return lost;
    }

  private:
    // Returns the number of lost faults that the record is about.
    uint64_t read_record(const char* record, size_t size, std::vector<FaultEntry>& out,
                         ClockSamples& clock) const {
        const auto header = read<perf_event_header>(record);
        if (header.type == PERF_RECORD_SAMPLE && wanted_.with_registers) {
            read_registers_of(record, size, out, clock);
        } else if (header.type == PERF_RECORD_SAMPLE && size >= sizeof(Sample)) {
            const auto sample = read<Sample>(record);
            // The processor does not know the address of every access. The kernel's memory is left
            // out.
            if (wanted_.kind != FaultKind::kSample ||
                (sample.address != 0 && sample.address >> 63 == 0)) {
                out.push_back({sample.time, sample.address, sample.ip, sample.pid, sample.tid,
                               sample.cpu, wanted_.kind});
            }
        } else if (header.type == PERF_RECORD_LOST && size >= sizeof(Lost)) {
            return read<Lost>(record).lost;
        } else if (header.type == PERF_RECORD_FORK && size >= sizeof(Forked)) {
            const auto forked = read<Forked>(record);
            if (forked.pid != forked.parent_pid) {  // otherwise it is a new thread
                out.push_back(
                    {forked.time, 0, 0, forked.parent_pid, forked.pid, 0, FaultKind::kFork});
            }
        } else if (header.type == PERF_RECORD_COMM &&
                   (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0 &&
                   size >= sizeof(Named) + sizeof(NamedEnd)) {
            const auto named = read<Named>(record);
            const auto end = read<NamedEnd>(record + size - sizeof(NamedEnd));
            out.push_back({end.time, 0, 0, named.pid, named.tid, end.cpu, FaultKind::kExec});
        }
        return 0;
    }
    void read_registers_of(const char* record, size_t size, std::vector<FaultEntry>& out,
                           ClockSamples& clock) const {
        if (size < sizeof(Sample) + sizeof(RecordedRegisters)) {
            return;
        }
        const auto sample = read<Sample>(record);
        SampledRegisters registers;
        if ((wanted_.only == 0 || wanted_.only == sample.pid) &&
            read_registers(record + sizeof(Sample), registers)) {
            clock.add({sample.time, 0, registers.pc, sample.pid, sample.tid, sample.cpu,
                       FaultKind::kSample},
                      registers, out);
        }
    }
    template <typename Record>
    static Record read(const char* from) {
        Record record;
        std::memcpy(&record, from, sizeof record);
        return record;
    }

    int open_event(pid_t thread) const {
        perf_event_attr attributes{};
        attributes.type = wanted_.type;
        attributes.size = sizeof attributes;
        attributes.config = wanted_.event;
        attributes.config1 = wanted_.more;
        attributes.precise_ip = wanted_.precise & 3;
        attributes.freq = wanted_.frequency != 0;
        if (wanted_.frequency != 0) {
            attributes.sample_freq = wanted_.frequency;
        } else {
            attributes.sample_period = wanted_.period;
        }
        attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                 PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
        if (wanted_.with_registers) {
            attributes.sample_type |= PERF_SAMPLE_REGS_USER;
            attributes.sample_regs_user = kWantedRegisters;
            attributes.exclude_kernel = 1;
        }
        attributes.inherit = 1;
        attributes.task = wanted_.processes;
        attributes.comm = wanted_.processes;
        attributes.comm_exec = wanted_.processes;
        attributes.sample_id_all = 1;
        attributes.disabled = wanted_.from_exec;
        attributes.enable_on_exec = wanted_.from_exec;
        attributes.exclude_hv = 1;
        attributes.use_clockid = 1;
        attributes.clockid = CLOCK_REALTIME;
        attributes.watermark = 1;
        attributes.wakeup_watermark = static_cast<uint32_t>(wanted_.ring_pages * page_bytes() / 4);
        const auto open = [&] {
            return static_cast<int>(
                syscall(SYS_perf_event_open, &attributes, thread, cpu_, -1, PERF_FLAG_FD_CLOEXEC));
        };
        const int file = open();
        if (file >= 0 || errno != EACCES) {
            return file;
        }
        attributes.exclude_kernel = 1;  // then the touches of system calls are missing
        return open();
    }

    int cpu_;
    Wanted wanted_;
    int file_ = -1;
    perf_event_mmap_page* header_ = nullptr;
};

}  // namespace numascape
