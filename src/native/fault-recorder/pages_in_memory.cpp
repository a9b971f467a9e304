// SPDX-License-Identifier: Apache-2.0
#include "pages_in_memory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "pages.h"

namespace numascape {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(20);
constexpr uint64_t kPagesPerLook = 1 << 14;  // some tenths of a millisecond
constexpr uint64_t kMaxAtOnce = 1 << 26;     // 256 GiB, a second
// A huge page is cleared in milliseconds, but the kernel may first have to move other pages.
constexpr uint64_t kLongestFaultNs = 3'000'000'000;
// Bits of an entry of pagemap.
constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;  // also while it is being moved
constexpr uint64_t kFileOrShared = uint64_t{1} << 61;
constexpr uint64_t kMappedOnce = uint64_t{1} << 56;

bool is_in_memory(uint64_t entry) {
    return (entry & (kPresent | kSwapped)) != 0;
}

// The zero page, which is mapped for all pages that were only read, counts as mapped several times.
bool may_fault_for_another_reason(uint64_t entry) {
    return (entry & kSwapped) != 0 ||
           ((entry & kPresent) != 0 && (entry & (kFileOrShared | kMappedOnce)) == 0);
}

std::string first_line(const char* path) {
    std::string line;
    std::getline(std::ifstream(path), line);
    return line;
}

// The number of hinting faults of all processes since the kernel started.
uint64_t counted_hinting_faults() {
    std::ifstream file("/proc/vmstat");
    std::string name;
    uint64_t count = 0;
    while (file >> name >> count) {
        if (name == "numa_hint_faults") {
            return count;
        }
    }
    return 0;
}

}  // namespace

uint64_t realtime_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

bool kernel_balances() {
    const bool nodes =
        first_line("/sys/devices/system/node/has_memory").find_first_of(",-") != std::string::npos;
    const std::string mode = first_line("/proc/sys/kernel/numa_balancing");
    return nodes && !mode.empty() && mode != "0";
}

PagesInMemory::~PagesInMemory() {
    if (file_ >= 0) {
        close(file_);
    }
}

bool PagesInMemory::open() {
    if (file_ < 0) {
        file_ = ::open(map_.c_str(), O_RDONLY | O_CLOEXEC);
    }
    return file_ >= 0;
}

// A thread that faults again has finished its previous fault.
void PagesInMemory::faulted(uint32_t thread, uint64_t address, uint64_t time_ns) {
    const uint64_t page = address / kPageBytes;
    Block& block = blocks_[page / kBlockPages];
    block.in_memory.set(page % kBlockPages);
    block.to_copy.reset(page % kBlockPages);
    with_faults_.insert(page / kBlockPages);
    LastFault& last = last_faults_[thread];
    if (time_ns < last.time_ns) {  // the entry comes from the buffer of another CPU
        return;
    }
    blocks_[last.page / kBlockPages].unfinished.reset(last.page % kBlockPages);
    last = {page, time_ns};
    block.unfinished.set(page % kBlockPages);
    block.awaited_until_ns = time_ns + kLongestFaultNs;
}

bool PagesInMemory::look(std::vector<FaultEntry>& out, uint64_t began_ns, uint64_t counted,
                         uint64_t pages) {
    began_ns_ = began_ns;
    if (!open()) {
        return false;
    }
    for (const uint64_t block : with_faults_) {
        look_at(block * kBlockPages, (block + 1) * kBlockPages, out);
    }
    std::erase_if(with_faults_, [&](uint64_t number) {
        const Block& block = blocks_[number];
        return (block.to_copy & ~block.in_memory).none();
    });
    if (left_.empty()) {
        next_round();
    }
    while (pages > 0 && !left_.empty()) {
        Range& range = left_.back();
        const uint64_t end = std::min(range.end, range.first + std::min(pages, kMaxFaultPages));
        look_at(range.first, end, out);
        pages -= end - range.first;
        range.first = end;
        if (range.first == range.end) {
            left_.pop_back();
        }
    }
    out.push_back({realtime_ns(), began_ns, counted, pid_, 0, 0, FaultKind::kLook});
    return !ended_;
}

// Memory without read permission is only reserved, and not present.
void PagesInMemory::next_round() {
    std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
    for (std::string line; std::getline(maps, line);) {
        uint64_t start = 0;
        uint64_t end = 0;
        char readable = '-';
        if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %c", &start, &end, &readable) == 3 &&
            readable == 'r' && end >> 47 == 0) {
            left_.push_back({start / kPageBytes, end / kPageBytes});
        }
    }
}

void PagesInMemory::look_at(uint64_t first, uint64_t end, std::vector<FaultEntry>& out) {
    std::vector<uint64_t> map(end - first);
    const ssize_t bytes = pread(file_, map.data(), map.size() * sizeof(uint64_t),
                                static_cast<off_t>(first * sizeof(uint64_t)));
    if (bytes <= 0) {
        ended_ = true;
        return;
    }
    end = first + static_cast<uint64_t>(bytes) / sizeof(uint64_t);
    for (uint64_t at = first; at < end;) {
        const uint64_t block_end = std::min(end, (at / kBlockPages + 1) * kBlockPages);
        look_at_block(at / kBlockPages, map.data() + (at - first), at, block_end);
        at = block_end;
    }
    write_noted(out);
}

// The kernel reports a fault before it handles it. A page that has just faulted and is not present
// may therefore still appear. It has left memory only if it does not appear.
void PagesInMemory::look_at_block(uint64_t number, const uint64_t* map, uint64_t first,
                                  uint64_t end) {
    if (!blocks_.contains(number) && std::none_of(map, map + (end - first), is_in_memory)) {
        return;
    }
    Block& block = blocks_[number];
    for (uint64_t page = first; page < end; ++page) {
        const uint64_t entry = map[page - first];
        const size_t at = page % kBlockPages;
        const bool here = is_in_memory(entry);
        const bool changed = here != block.in_memory[at];
        const bool was_awaited = block.to_copy[at] && !block.in_memory[at];
        const bool awaited = !here && block.unfinished[at] && began_ns_ < block.awaited_until_ns;
        if (may_fault_for_another_reason(entry) || awaited) {
            if (changed || !block.to_copy[at]) {
                note(FaultKind::kToCopy, page);
            }
            block.to_copy[at] = true;
        } else if (changed || (!here && was_awaited)) {
            note(here ? FaultKind::kInMemory : FaultKind::kGone, page);
            block.to_copy[at] = false;
        }
        block.in_memory[at] = here;
        block.unfinished[at] = awaited;
    }
}

// Pages are noted in ascending order, each kind by itself.
void PagesInMemory::note(FaultKind kind, uint64_t page) {
    for (auto last = noted_.rbegin(); last != noted_.rend() && last - noted_.rbegin() < 3; ++last) {
        if (last->kind == kind && last->address / kPageBytes + last->pc == page &&
            last->pc < kMaxFaultPages) {
            ++last->pc;
            return;
        }
    }
    noted_.push_back({0, page * kPageBytes, 1, pid_, 0, 0, kind});
}

// A fault in the meantime may have brought a page into memory. Pages that were seen in memory count
// from now on, and all others from before.
void PagesInMemory::write_noted(std::vector<FaultEntry>& out) {
    const uint64_t now = realtime_ns();
    for (FaultEntry& entry : noted_) {
        entry.time_ns = entry.kind == FaultKind::kGone ? began_ns_ : now;
        out.push_back(entry);
    }
    noted_.clear();
}

void WatchedProcesses::look_at_all_of(uint32_t pid) {
    const auto [at, fresh] = processes_.try_emplace(pid, pid);
    at->second.look(found_, realtime_ns(), counted_hinting_faults(), kMaxAtOnce);
}

void WatchedProcesses::follow(std::vector<FaultEntry>& faults, uint64_t began_ns) {
    std::stable_sort(faults.begin(), faults.end(), [](const FaultEntry& a, const FaultEntry& b) {
        return a.time_ns < b.time_ns;
    });
    for (const FaultEntry& entry : faults) {
        if (entry.kind == FaultKind::kFault) {
            processes_.try_emplace(entry.pid, entry.pid)
                .first->second.faulted(entry.tid, entry.address, entry.time_ns);
        } else if (entry.kind == FaultKind::kExec) {
            processes_.erase(entry.pid);
        }
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_look_) {
        next_look_ = now + kBetweenLooks;
        look(began_ns);
    }
    faults.insert(faults.end(), found_.begin(), found_.end());
    found_.clear();
}

void WatchedProcesses::look(uint64_t began_ns) {
    const uint64_t counted = counted_hinting_faults();
    for (auto at = processes_.begin(); at != processes_.end();) {
        const bool runs = at->second.look(found_, began_ns, counted, kPagesPerLook);
        at = runs ? std::next(at) : processes_.erase(at);
    }
}

}  // namespace numascape
