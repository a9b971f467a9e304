// SPDX-License-Identifier: Apache-2.0
#include "clock_samples.h"

#include <algorithm>

namespace numascape {

void ClockSamples::add(const FaultEntry& entry, const SampledRegisters& sampled,
                       std::vector<FaultEntry>& out) {
    last_ns_ = std::max(last_ns_, entry.time_ns);
    const std::vector<AccessAhead>& ahead = ahead_.of(static_cast<pid_t>(entry.pid), sampled);
    if (ahead.empty()) {
        out.emplace_back(entry).kind = FaultKind::kNoAccess;
        return;
    }
    const auto emit = [&](const AccessAhead& access, uint64_t address, uint32_t times) {
        for (; times > 0; --times) {
            FaultEntry& added = out.emplace_back(entry);
            added.pc = access.pc;
            added.address = address;
            added.kind = access.writes ? FaultKind::kSampledWrite : FaultKind::kSample;
        }
    };
    const size_t chosen = random() % ahead.size();
    for (size_t i = 0; i < ahead.size(); ++i) {
        if (ahead[i].address) {
            const uint32_t paid = pay({entry.pid, entry.tid, ahead[i].pc});
            emit(ahead[i], *ahead[i].address, paid + (i == chosen ? 1 : 0));
        }
    }
    const AccessAhead access = ahead[chosen];
    if (access.address) {
        return;
    }
    const auto process = static_cast<pid_t>(entry.pid);
    if (const auto address = address_by_memory(process, sampled, chosen, access.pc)) {
        emit(access, *address, 1);
    } else if (owed_.size() < kMaxOwing) {
        ++owed_[{entry.pid, entry.tid, access.pc}];
    }
}

std::optional<uint64_t> ClockSamples::address_by_memory(pid_t process,
                                                        const SampledRegisters& sampled,
                                                        size_t number, uint64_t pc) {
    const std::vector<AccessAhead>& ahead = ahead_.of(process, sampled, true);
    const bool same = number < ahead.size() && ahead[number].pc == pc && ahead[number].address;
    // A value that was a pointer before may be any number now, so the address may not exist.
    const bool exists = same && !memory_.at(process, *ahead[number].address).empty();
    return exists ? ahead[number].address : std::nullopt;
}

void ClockSamples::finish(std::vector<FaultEntry>& out) const {
    for (const auto& [owing, number] : owed_) {
        out.insert(out.end(), number,
                   {last_ns_, 0, owing.pc, owing.pid, owing.tid, 0, FaultKind::kNoAccess});
    }
}

// The number of earlier samples for which this access counts.
uint32_t ClockSamples::pay(const Owing& owing) {
    const auto owed = owed_.find(owing);
    if (owed == owed_.end()) {
        return 0;
    }
    const uint32_t paid = std::min(owed->second, kMaxPaid);
    owed->second -= paid;
    if (owed->second == 0) {
        owed_.erase(owed);
    }
    return paid;
}

// xorshift (Marsaglia 2003).
uint64_t ClockSamples::random() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
}

}  // namespace numascape
