// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "program_code.h"
#include "shard_writer.h"

namespace numascape {

// Mixes a further value into a hash.
inline uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

// The call stacks of one kind that are in the log, by their identifiers. It limits how many
// functions of a further stack are distinguished. The limit falls as the number of known stacks
// grows, so that they do not fill memory.
class KnownStacks {
  public:
    static constexpr uint32_t kMaxFrames = 48;
    // The innermost functions are the place: many programs do something in one function, for many
    // callers.
    static constexpr uint32_t kFramesOfPlace = 4;

    // From so many stacks on, at one place or in all, only so many frames are distinguished.
    struct Limit {
        uint16_t of_place;
        uint32_t in_all;
        uint32_t frames;
    };
    struct Limits {
        uint32_t entries;  // of the table
        uint32_t most;     // further stacks are not in the log
        ShardFlags flag;   // set if not all stacks were distinguished
        Limit few;
        Limit fewer;
    };

    constexpr KnownStacks(ShardWriter& shard, const Limits& limits)
        : shard_(shard), limits_(limits) {}
    // Allocates its memory; false if there is none.
    bool open();
    // Frees its memory. It must not be used any more.
    void close();

    enum class Remembered : uint8_t { kNew, kKnown, kNoRoom };
    Remembered remember(uint64_t id);
    // How many frames of a stack at this place are distinguished.
    uint32_t frames_wanted(uint64_t place) const;
    uint16_t at_place(uint64_t place) const {
        return of_place(place).load(std::memory_order_relaxed);
    }
    // There is one more stack at this place.
    void add(uint64_t place);

  private:
    static constexpr uint32_t kPlaces = 1 << 14;
    std::atomic<uint16_t>& of_place(uint64_t place) const { return places_[place % kPlaces]; }

    ShardWriter& shard_;
    const Limits limits_;
    std::atomic<uint64_t>* seen_ = nullptr;    // identifiers; open addressing
    std::atomic<uint16_t>* places_ = nullptr;  // distinct stacks by their place's hash
    std::atomic<uint32_t> stacks_ = 0;         // in all
};

// The return addresses of a stack, from the innermost on. An address that repeats, as in a
// recursive function, counts once.
struct WalkedStack {
    uint64_t id;     // identifies the return addresses
    uint64_t place;  // identifies the first of them
    uint32_t frames = 0;
    uint32_t wanted = KnownStacks::kMaxFrames;
    bool complete = true;  // whether all was found that was looked for
    uint64_t addresses[KnownStacks::kMaxFrames];

    explicit WalkedStack(uint64_t seed) : id(seed), place(seed) {}
    void add(uint64_t return_address, const ProgramCode& code, const KnownStacks& known) {
        if (frames != 0 && addresses[frames - 1] == return_address) {
            return;
        }
        addresses[frames++] = return_address;
        id = mix(id, code.told_apart(return_address));
        if (frames <= KnownStacks::kFramesOfPlace) {
            place = id;
        }
        if (frames == KnownStacks::kFramesOfPlace) {
            wanted = known.frames_wanted(place);
        }
    }
};

}  // namespace numascape
