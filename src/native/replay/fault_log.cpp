// SPDX-License-Identifier: Apache-2.0
#include "fault_log.h"

#include <algorithm>
#include <cstring>

#include "fault_meaning.h"
#include "shard_reader.h"

namespace numascape {
namespace {

std::vector<FaultEntry> entries_of(std::span<const std::byte> bytes, uint32_t pid) {
    std::vector<FaultEntry> entries;
    for (size_t at = 0; at + sizeof(FaultEntry) <= bytes.size(); at += sizeof(FaultEntry)) {
        FaultEntry entry;
        std::memcpy(&entry, bytes.data() + at, sizeof entry);
        if (entry.pid == pid) {
            entries.push_back(entry);
        }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const FaultEntry& a, const FaultEntry& b) {
        return a.time_ns < b.time_ns;
    });
    return entries;
}

// The calls of a process. It may execute one program after another: a call may be of any of these.
std::unordered_map<uint32_t, SampledCall> calls_in(const std::vector<FaultEntry>& entries) {
    std::unordered_map<uint32_t, SampledCall> calls;
    for (const FaultEntry& entry : entries) {
        const auto number = static_cast<uint32_t>(entry.address);
        if (entry.kind == FaultKind::kCall && number >= kFirstCall && entry.callers < number) {
            calls.try_emplace(number, SampledCall{entry.pc, entry.callers});
        }
    }
    return calls;
}

// A process that executes one program after another has the same addresses in each.
std::vector<FaultEntry> of_program(const std::vector<FaultEntry>& entries, uint64_t begin_ns) {
    const auto is_exec = [](const FaultEntry& entry) { return entry.kind == FaultKind::kExec; };
    auto begin = entries.begin();
    auto end = std::find_if(begin, entries.end(), is_exec);
    while (end != entries.end() && end->time_ns <= begin_ns) {
        begin = end + 1;
        end = std::find_if(begin, entries.end(), is_exec);
    }
    return {begin, end};
}

}  // namespace

FaultLog read_faults(const std::string& path, uint32_t pid, uint64_t begin_ns) {
    const MappedFile file(path);
    const auto bytes = file.bytes();
    FaultHeader header{};
    if (bytes.size() < sizeof header) {
        throw ShardError{path + " is not a log of page faults"};
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.magic, kFaultMagic, sizeof kFaultMagic) != 0) {
        throw ShardError{path + " is not a log of page faults"};
    }
    const std::vector<FaultEntry> entries = entries_of(bytes.subspan(sizeof header), pid);
    FaultLog log = FaultMeanings::apply(of_program(entries, begin_ns));
    log.calls = calls_in(entries);
    log.lost = header.lost;
    log.bursts = header.bursts;
    return log;
}

}  // namespace numascape
