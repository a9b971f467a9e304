// SPDX-License-Identifier: Apache-2.0
#include "fault_meaning.h"

#include <algorithm>

#include "shard_format.h"

namespace numascape {

FaultLog FaultMeanings::apply(const std::vector<FaultEntry>& entries) {
    FaultMeanings meanings;
    for (const FaultEntry& entry : entries) {
        if (entry.kind == FaultKind::kLook) {
            meanings.looks_.push_back({entry.time_ns, entry.pc});
        }
    }
    FaultLog log;
    if (!meanings.looks_.empty()) {
        const uint64_t first = meanings.looks_.front().counted;
        log.hinting_counted = std::max(first, meanings.looks_.back().counted) - first;
    }
    for (const FaultEntry& entry : entries) {
        switch (entry.kind) {
            case FaultKind::kFault:
                log.faults.push_back(meanings.fault(entry, log.faults.size()));
                break;
            case FaultKind::kLook:
                meanings.look(entry, log);
                break;
            case FaultKind::kInMemory:
                meanings.set(entry, State::kInMemory);
                break;
            case FaultKind::kToCopy:
                meanings.set(entry, State::kToCopy);
                break;
            case FaultKind::kGone:
                meanings.set(entry, State::kUnknown);
                break;
            case FaultKind::kFork:
                meanings.forked();
                break;
            case FaultKind::kSample:
            case FaultKind::kSampledWrite:
                log.faults.push_back({entry.time_ns, entry.address, entry.pc, entry.tid, entry.cpu,
                                      FaultMeaning::kHinting, entry.time_ns, true,
                                      entry.kind == FaultKind::kSampledWrite, entry.callers});
                break;
            case FaultKind::kNoAccess:
                ++log.without_access;
                break;
            case FaultKind::kExec:
            case FaultKind::kCall:
                break;
        }
    }
    return log;
}

Fault FaultMeanings::fault(const FaultEntry& entry, size_t number) {
    const uint64_t page = entry.address >> kPageShift;
    Block& block = blocks_[page / kBlockPages];
    State& state = block.pages[page % kBlockPages];
    FaultMeaning meaning = FaultMeaning::kOther;
    if (state == State::kUnknown) {
        meaning = FaultMeaning::kFirstTouch;
    } else if (state == State::kInMemory && kernel_counted_around(entry.time_ns)) {
        meaning = FaultMeaning::kHinting;
    }
    const uint64_t since = block.looked_ns;
    if (since == 0) {  // earlier unmapped memory has no meaning for later faults
        block.looked_ns = entry.time_ns;
    }
    state = State::kFaulted;
    if (!looks_.empty()) {
        not_looked_at_.push_back({entry, number, !block.faulted});
    }
    block.faulted = true;
    return {entry.time_ns, entry.address, entry.pc, entry.tid, entry.cpu, meaning, since};
}

void FaultMeanings::look(const FaultEntry& entry, FaultLog& log) {
    find_huge_pages(log);
    const uint64_t began = entry.address;
    std::erase_if(not_looked_at_, [&](const Pending& fault) {
        if (fault.entry.time_ns >= began) {
            return false;
        }
        const uint64_t page = fault.entry.address >> kPageShift;
        blocks_[page / kBlockPages].looked_ns = began;
        State& state = state_of(page);
        if (state == State::kFaulted) {
            state = State::kInMemory;
        }
        return true;
    });
    for (const Pending& fault : not_looked_at_) {  // while it was looked
        state_of(fault.entry.address >> kPageShift) = State::kFaulted;
    }
}

// A block that is completely in memory came with its first fault. Other pages may have come before
// the look, because the kernel was fast.
void FaultMeanings::find_huge_pages(FaultLog& log) {
    for (const Pending& fault : not_looked_at_) {
        const auto at = filled_.find((fault.entry.address >> kPageShift) / kBlockPages);
        FaultMeaning& meaning = log.faults[fault.number].meaning;
        if (at == filled_.end() || meaning != FaultMeaning::kFirstTouch || fault.first_of_block) {
            continue;
        }
        const auto& pages = blocks_[*at].pages;
        if (std::find(pages.begin(), pages.end(), State::kUnknown) == pages.end()) {
            meaning = FaultMeaning::kOther;
        }
    }
    filled_.clear();
}

void FaultMeanings::set(const FaultEntry& entry, State state) {
    const uint64_t first = entry.address >> kPageShift;
    const uint64_t end = first + std::min(entry.pc, kMaxFaultPages);
    for (uint64_t page = first; page < end; ++page) {
        Block& block = blocks_[page / kBlockPages];
        block.pages[page % kBlockPages] = state;
        block.looked_ns = entry.time_ns;
        block.faulted = block.faulted && state != State::kUnknown;
        if (state == State::kInMemory) {
            filled_.insert(page / kBlockPages);
        }
    }
}

void FaultMeanings::forked() {
    for (auto& [number, block] : blocks_) {
        for (State& state : block.pages) {
            state = state == State::kUnknown ? state : State::kToCopy;
        }
    }
}

// The kernel counts a fault while it handles it, shortly after it reports it.
bool FaultMeanings::kernel_counted_around(uint64_t time_ns) const {
    const auto after = std::lower_bound(looks_.begin(), looks_.end(), time_ns,
                                        [](const Look& l, uint64_t t) { return l.time_ns < t; });
    const auto at =
        std::min<size_t>(static_cast<size_t>(after - looks_.begin()) + 1, looks_.size() - 1);
    return looks_[at].counted > looks_[at > 3 ? at - 3 : 0].counted;
}

}  // namespace numascape
