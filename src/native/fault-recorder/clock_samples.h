// SPDX-License-Identifier: Apache-2.0
//
// Makes samples of accesses from samples of the clock.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "accesses_ahead.h"
#include "fault_log.h"
#include "sampled_registers.h"

namespace numascape {

// One of the accesses that a thread makes next, chosen at random, stands for the sample. So code
// counts in proportion to its time, and all accesses within a loop count equally.
//
// If its address depends on a value in memory, this value is read now: some milliseconds later. If
// the address is still unknown, later samples that know the address of this instruction's access
// count for it, too. Otherwise, accesses whose address is known only in a short part of a loop
// would be missing.
class ClockSamples {
  public:
    explicit ClockSamples(MemoryOfProcesses& memory) : memory_(memory) {}

    // Appends the accesses of the sample `entry` to `out`, or one entry that says that there are
    // none.
    void add(const FaultEntry& entry, const SampledRegisters& sampled,
             std::vector<FaultEntry>& out);
    // Appends, at the end, the samples whose access remained unknown.
    void finish(std::vector<FaultEntry>& out) const;

  private:
    struct Owing {
        uint32_t pid, tid;
        uint64_t pc;
        bool operator==(const Owing&) const = default;
    };
    struct Hash {
        size_t operator()(const Owing& owing) const {
            return std::hash<uint64_t>()(owing.pc * 31 + owing.tid);
        }
    };
    static constexpr size_t kMaxOwing = 1 << 16;
    // A sample counts for at most this many others. With more, the result would seem more certain
    // than it is.
    static constexpr uint32_t kMaxPaid = 4;

    uint32_t pay(const Owing& owing);
    // The address of access `number` ahead, with what is in memory now.
    std::optional<uint64_t> address_by_memory(pid_t process, const SampledRegisters& sampled,
                                              size_t number, uint64_t pc);

    uint64_t random();

    MemoryOfProcesses& memory_;
    AccessesAhead ahead_{memory_};
    std::unordered_map<Owing, uint32_t, Hash> owed_;
    uint64_t last_ns_ = 0;
    uint64_t state_ = 0x9e3779b97f4a7c15;
};

}  // namespace numascape
