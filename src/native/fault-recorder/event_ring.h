// SPDX-License-Identifier: Apache-2.0
//
// Samples of an event of the kernel or the processor, from one CPU's ring buffer
// (perf_event_open(2)).
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock_samples.h"
#include "fault_log.h"
#include "memory_of_processes.h"
#include "sampled_callers.h"
#include "sampled_registers.h"
#include "wanted_event.h"

namespace numascape {

// The sample as `sample_type` below lays it out. If they are wanted, registers and then a part of
// the stack follow: the size of the part, the part, and how much of it was copied.
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

// What makes entries of the log from samples, and finds their callers.
struct SampleReaders {
    MemoryOfProcesses memory;
    ClockSamples clock{memory};
    SampledCallers callers{memory};
    std::vector<char> room;  // for one record

    // Call it before the samples of each round, because memory may have changed.
    void begin_round() {
        memory.begin_round();
        callers.begin_round();
    }
};

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

    // Appends all available samples; returns how many faults were lost.
    uint64_t drain(std::vector<FaultEntry>& out, SampleReaders& readers) {
        const char* data = reinterpret_cast<const char*>(header_) + page_bytes();
        const size_t bytes = wanted_.ring_pages * page_bytes();
        const uint64_t head = __atomic_load_n(&header_->data_head, __ATOMIC_ACQUIRE);
        uint64_t tail = header_->data_tail;
        uint64_t lost = 0;
        std::vector<char>& room = readers.room;
        room.resize(sizeof(Sample) + sizeof(RecordedRegisters) + wanted_.stack_bytes + 64);
        while (tail < head) {
            const char* record = data + tail % bytes;
            const size_t size = reinterpret_cast<const perf_event_header*>(record)->size;
            const size_t known = std::min(size, room.size());
            const size_t to_end = std::min(known, bytes - tail % bytes);
            std::memcpy(room.data(), record, to_end);
            std::memcpy(room.data() + to_end, data, known - to_end);  // it may wrap around
            lost += read_record(room.data(), known, out, readers);
            tail += size;
        }
        __atomic_store_n(&header_->data_tail, tail, __ATOMIC_RELEASE);
        return lost;
    }

  private:
    // Returns the number of lost faults that the record is about.
    uint64_t read_record(const char* record, size_t size, std::vector<FaultEntry>& out,
                         SampleReaders& readers) const {
        const auto header = read<perf_event_header>(record);
        if (header.type == PERF_RECORD_SAMPLE && size >= sizeof(Sample)) {
            read_sample(record, size, out, readers);
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
            readers.callers.forget(named.pid);
        }
        return 0;
    }
    void read_sample(const char* record, size_t size, std::vector<FaultEntry>& out,
                     SampleReaders& readers) const {
        const auto sample = read<Sample>(record);
        FaultEntry entry{sample.time, sample.address, sample.ip,   sample.pid,
                         sample.tid,  sample.cpu,     wanted_.kind};
        if (wanted_.kind != FaultKind::kSample) {
            out.push_back(entry);
            return;
        }
        // The processor does not know the address of every access. The kernel's memory is left out.
        const bool has_address = sample.address != 0 && !is_of_kernel(sample.address);
        if ((wanted_.only != 0 && wanted_.only != sample.pid) ||
            (!wanted_.of_clock && !has_address)) {
            return;
        }
        const char* at = record + sizeof(Sample);
        const char* end = record + size;
        SampledRegisters registers;
        const bool has_registers =
            (wanted_.of_clock || wanted_.stack_bytes != 0) && read_registers(at, end, registers);
        if (has_registers && wanted_.stack_bytes != 0) {
            const uint64_t stack_pointer = innermost_frame(registers).stack_pointer;
            entry.callers = readers.callers.of(entry, registers, {stack_pointer, stack(at, end)},
                                               is_of_kernel(sample.ip), out);
        }
        if (!wanted_.of_clock) {
            out.push_back(entry);
        } else if (has_registers) {
            entry.address = 0;
            entry.pc = registers.pc;
            readers.clock.add(entry, registers, out);
        }
    }
    static bool is_of_kernel(uint64_t address) { return address >> 63 != 0; }
    // The copy of the stack that begins at `at`.
    static std::span<const char> stack(const char* at, const char* end) {
        const auto left = [&] { return static_cast<uint64_t>(end - at); };
        if (left() < sizeof(uint64_t)) {
            return {};
        }
        const auto room = read<uint64_t>(at);
        at += sizeof(uint64_t);
        if (room == 0 || left() < sizeof(uint64_t) || room > left() - sizeof(uint64_t)) {
            return {};
        }
        return {at, std::min(room, read<uint64_t>(at + room))};
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
