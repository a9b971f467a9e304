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
#include "wanted_event.h"

namespace numascape {

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

inline constexpr pid_t kAllThreads = -1;
inline constexpr pid_t kThisThread = 0;

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
            std::for_each(leaders_.begin(), leaders_.end(), close);
            errno = error;
            return;
        }
        header_ = static_cast<perf_event_mmap_page*>(mapped);
    }
    // A buffer for events that are added and closed again. The kernel gives a buffer only to an
    // event, so it is that of an event of this thread, which is never enabled.
    static Ring without_events(int cpu, const Wanted& wanted) {
        Wanted idle = wanted;
        idle.idle = true;
        Ring ring(cpu, kThisThread, idle);
        ring.wanted_ = wanted;
        return ring;
    }
    // Also puts the events of another thread into this buffer; false if that thread has ended.
    bool add(pid_t thread) {
        const int event = open_event(thread);
        if (event < 0) {
            return false;
        }
        added_.push_back(event);
        return ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, file_) == 0;
    }
    void close_added() {
        std::for_each(added_.begin(), added_.end(), close);
        added_.clear();
    }
    bool opened() const { return header_ != nullptr; }
    int file() const { return file_; }
    void close_events() {
        munmap(header_, (1 + wanted_.ring_pages) * page_bytes());
        close(file_);
        std::for_each(leaders_.begin(), leaders_.end(), close);
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

    // The leader of the group and the event itself; the event has the result.
    int open_event(pid_t thread) {
        int leader = -1;
        if (wanted_.leader != 0) {
            leader = open_with(leader_of(wanted_), thread, -1);
            if (leader < 0) {
                return leader;
            }
            leaders_.push_back(leader);
        }
        return open_with(attributes_of(wanted_), thread, leader);
    }
    int open_with(const perf_event_attr& attributes, pid_t thread, int leader) const {
        const auto open = [&](perf_event_attr wanted) {
            return static_cast<int>(
                syscall(SYS_perf_event_open, &wanted, thread, cpu_, leader, PERF_FLAG_FD_CLOEXEC));
        };
        const int file = open(attributes);
        if (file >= 0 || errno != EACCES) {
            return file;
        }
        return open(without_kernel(attributes, wanted_));
    }

    int cpu_;
    Wanted wanted_;
    int file_ = -1;
    std::vector<int> added_;
    std::vector<int> leaders_;  // one for each thread, if the event needs a leader
    perf_event_mmap_page* header_ = nullptr;
};

}  // namespace numascape
