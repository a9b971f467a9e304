// SPDX-License-Identifier: Apache-2.0
#include "fault_log.h"

#include <algorithm>
#include <cstring>

#include "shard_reader.h"

namespace numascape {

FaultLog read_faults(const std::string& path, uint32_t pid) {
    const MappedFile file(path);
    const auto bytes = file.bytes();
    FaultHeader header{};
    if (bytes.size() < sizeof header) {
        throw ShardError{path + " is no log of page faults"};
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.magic, kFaultMagic, sizeof kFaultMagic) != 0) {
        throw ShardError{path + " is no log of page faults"};
    }
    FaultLog log{header.lost, {}};
    for (size_t at = sizeof header; at + sizeof(FaultEntry) <= bytes.size();
         at += sizeof(FaultEntry)) {
        FaultEntry entry;
        std::memcpy(&entry, bytes.data() + at, sizeof entry);
        if (entry.pid == pid) {
            log.faults.push_back(entry);
        }
    }
    std::stable_sort(
        log.faults.begin(), log.faults.end(),
        [](const FaultEntry& a, const FaultEntry& b) { return a.time_ns < b.time_ns; });
    return log;
}

}  // namespace numascape
