// SPDX-License-Identifier: Apache-2.0
//
// What the kernel is asked for when an event is opened (perf_event_open(2)).
#pragma once

#include <cstdint>
#include <ctime>

#include <linux/perf_event.h>
#include <unistd.h>

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
inline size_t pages_of_two_rings() {
    return geteuid() == 0 ? kRingPages : 2 * kSmallRingPages;
}

inline size_t page_bytes() {
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

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
    bool of_clock = false;  // the accesses follow from the registers (clock_samples.h)
    // How much of the stack a sample copies, to find the callers (sampled_callers.h); 0: callers
    // are not recorded.
    uint32_t stack_bytes = 0;
    // For the clock of a running process: the period if the kernel permits sampling of its threads,
    // but not of each CPU.
    uint64_t period_of_threads = 0;
    uint32_t only = 0;  // leaves out samples of all processes but this one; 0: none left out
    // IBS of AMD cannot leave out the kernel. Since Linux 6.14, the kernel drops such samples if
    // this bit of config2 is set (swfilt). 0: the event needs no such bit, or there is none.
    uint64_t filter = 0;
    // The configuration of the event that leads the group of this one; 0: it needs none. Intel's
    // cores since Sapphire Rapids and Alder Lake need one for loads (mem-loads-aux).
    uint64_t leader = 0;
    // For the clock of threads: it is sampled with this period, but only in bursts (bursts.h), so
    // that there are as many samples as with `period`. 0: it is sampled all the time.
    uint64_t period_in_bursts = 0;
    bool idle = false;  // the event is open, but never enabled
};

// Only the clock excludes anything: the kernel opens IBS only without such flags. Samples of the
// kernel's memory are left out later, by their addresses.
inline perf_event_attr attributes_of(const Wanted& wanted) {
    perf_event_attr attributes{};
    attributes.type = wanted.type;
    attributes.size = sizeof attributes;
    attributes.config = wanted.event;
    attributes.config1 = wanted.more;
    attributes.precise_ip = wanted.precise & 3;
    attributes.freq = wanted.frequency != 0;
    if (wanted.frequency != 0) {
        attributes.sample_freq = wanted.frequency;
    } else {
        attributes.sample_period = wanted.period;
    }
    attributes.sample_type =
        PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
    if (wanted.of_clock || wanted.stack_bytes != 0) {
        attributes.sample_type |= PERF_SAMPLE_REGS_USER;
        attributes.sample_regs_user = kWantedRegisters;
    }
    if (wanted.stack_bytes != 0) {
        attributes.sample_type |= PERF_SAMPLE_STACK_USER;
        attributes.sample_stack_user = wanted.stack_bytes;
    }
    attributes.exclude_kernel = wanted.of_clock;
    attributes.inherit = 1;
    attributes.task = wanted.processes;
    attributes.comm = wanted.processes;
    attributes.comm_exec = wanted.processes;
    attributes.sample_id_all = 1;
    attributes.disabled = wanted.from_exec || wanted.idle;
    attributes.enable_on_exec = wanted.from_exec;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_REALTIME;
    attributes.watermark = 1;
    attributes.wakeup_watermark = static_cast<uint32_t>(wanted.ring_pages * page_bytes() / 4);
    return attributes;
}

// The leader of the event's group: it only counts. A group has one clock.
inline perf_event_attr leader_of(const Wanted& wanted) {
    perf_event_attr attributes{};
    attributes.type = wanted.type;
    attributes.size = sizeof attributes;
    attributes.config = wanted.leader;
    attributes.inherit = 1;
    attributes.disabled = wanted.from_exec;
    attributes.enable_on_exec = wanted.from_exec;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_REALTIME;
    return attributes;
}

// The same event for a user who may not observe the kernel. The touches of system calls are then
// missing.
inline perf_event_attr without_kernel(perf_event_attr attributes, const Wanted& wanted) {
    attributes.exclude_kernel = 1;
    attributes.config2 |= wanted.filter;
    return attributes;
}

}  // namespace numascape
