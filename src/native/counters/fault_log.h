// SPDX-License-Identifier: Apache-2.0
//
// The page faults of a session, as the fault recorder leaves them beside the shards: a FaultHeader,
// then FaultEntry until the end of the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace numascape {

inline constexpr char kFaultMagic[8] = {'N', 'U', 'M', 'A', 'F', 'L', 'T', '1'};

struct FaultHeader {
    char magic[8];
    uint64_t lost;  // faults that the kernel had no room for
};

struct FaultEntry {
    uint64_t time_ns;  // CLOCK_REALTIME
    uint64_t address;
    uint64_t pc;
    uint32_t pid;
    uint32_t tid;
    uint32_t cpu;
    uint32_t reserved;
};
static_assert(sizeof(FaultHeader) == 16 && sizeof(FaultEntry) == 40);

struct FaultLog {
    uint64_t lost = 0;
    std::vector<FaultEntry> faults;  // in order of time
};

// The faults of one process. Throws ShardError when the file is none, or unreadable; what follows
// the last whole entry is left out.
FaultLog read_faults(const std::string& path, uint32_t pid);

}  // namespace numascape
