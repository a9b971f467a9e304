// SPDX-License-Identifier: Apache-2.0
#include "known_stacks.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {

bool KnownStacks::open() {
    seen_ = map_private<std::atomic<uint64_t>>(limits_.entries * sizeof *seen_);
    places_ = map_private<std::atomic<uint16_t>>(kPlaces * sizeof *places_);
    return seen_ != nullptr && places_ != nullptr;
}

void KnownStacks::close() {
    os::unmap(seen_, limits_.entries * sizeof *seen_);
    os::unmap(places_, kPlaces * sizeof *places_);
}

KnownStacks::Remembered KnownStacks::remember(uint64_t id) {
    constexpr uint32_t kTries = 64;
    auto at = static_cast<uint32_t>(id % limits_.entries);
    for (uint32_t tries = 0; tries < kTries; ++tries, at = (at + 1) % limits_.entries) {
        uint64_t known = seen_[at].load(std::memory_order_relaxed);
        if (known == 0 && stacks_.load(std::memory_order_relaxed) >= limits_.most) {
            break;
        }
        if (known == 0 && seen_[at].compare_exchange_strong(known, id)) {
            return Remembered::kNew;
        }
        if (known == id) {
            return Remembered::kKnown;
        }
    }
    shard_.set_flag(limits_.flag);
    return Remembered::kNoRoom;
}

uint32_t KnownStacks::frames_wanted(uint64_t place) const {
    const uint16_t known = at_place(place);
    const uint32_t all = stacks_.load(std::memory_order_relaxed);
    for (const Limit& limit : {limits_.fewer, limits_.few}) {
        if (known >= limit.of_place || all >= limit.in_all) {
            shard_.set_flag(limits_.flag);
            return limit.frames;
        }
    }
    return kMaxFrames;
}

void KnownStacks::add(uint64_t place) {
    std::atomic<uint16_t>& stacks = of_place(place);
    if (stacks.load(std::memory_order_relaxed) < limits_.fewer.of_place) {
        stacks.fetch_add(1, std::memory_order_relaxed);
    }
    stacks_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace numascape
