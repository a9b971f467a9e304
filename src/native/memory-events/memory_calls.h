// SPDX-License-Identifier: Apache-2.0
//
// The effects of each system call on the memory of a program, in one place. The recorders write the
// effects to the shard (memory_log.h). The placer applies them to the memory that it placed.
//
// *Before* a call, `ranges_at_risk` names the pages that the call may remove. Code that stores
// something by address must move it away now. After the kernel has removed the pages, another
// thread may get the same addresses before the caller runs again. *After* a call, and only if it
// succeeded, `effects_of` says what happened to memory. A call that failed has no effects.
// Everything that was moved away is then put back, or does no harm where it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interval_map.h"

namespace numascape {

struct SystemCall {
    long number;
    uint64_t arguments[6];
    // Internal to the table, from before the call to after it: attached segments of System V shared
    // memory that the call may detach.
    IntervalMap<char>::Taken segments;
};

enum class EffectKind : uint8_t {
    kMap,     // new memory at [start, start + bytes)
    kUnmap,   // the addresses are free
    kMove,    // what was at `from` is at `start`; see Effect::left
    kForget,  // the pages' contents are gone, and their next access is a first touch
    kAdvise,  // the program asks for huge pages of 2 MiB, or refuses them
    kTouch,   // the kernel made the pages present for the calling thread
    kAccess,  // ... and read or wrote the bytes
};

// The content of the old addresses after a move.
enum class LeftBehind : uint8_t {
    kNothing,
    kEmptyPages,  // MREMAP_DONTUNMAP
    kSamePages,   // the same shared pages are at both
};

// A range is of whole pages, except for kTouch and kAccess.
struct Effect {
    EffectKind kind;
    uint64_t start;
    uint64_t bytes;
    // For kMove. If it equals `start`, the mapping became longer or shorter. If `bytes` is larger
    // than `from_bytes`, the difference is new memory.
    uint64_t from;
    uint64_t from_bytes;
    LeftBehind left;
    int file;           // kMap: descriptor, -1 when anonymous
    uint64_t offset;    // kMap: in the file
    bool shared;        // kMap: between processes
    bool heap;          // kMap: below the program break
    bool private_only;  // kForget: pages of shared mappings keep their contents
    bool writes;        // kTouch, kAccess
    bool huge;          // kAdvise: the program asks for huge pages
};

struct EffectSink {
    void (*take)(void* context, const Effect& effect);
    void* context;
    void operator()(const Effect& effect) const { take(context, effect); }
};

// An EffectSink for a function object that lives as long as the call.
template <typename Function>
EffectSink sink_of(Function& function) {
    return {[](void* context, const Effect& effect) { (*static_cast<Function*>(context))(effect); },
            &function};
}

// The state of the process that the table needs to determine effects.
struct MemoryState {
    std::atomic<uint64_t> program_break{0};  // page aligned; 0: not known
    IntervalMap<char> segments;              // of System V shared memory
    // Copies from the program's memory; false if it is not mapped.
    bool (*read)(uint64_t address, void* into, size_t bytes) = nullptr;
};

// Whether the table has the call.
bool has_memory_effects(long number);
// Whether the call makes a mapping that is named after the code that made the call.
bool makes_mapping(long number);

// The pages that the call may remove, as effects kUnmap, kMove and kForget. Call it before each
// call, and effects_of after it.
void ranges_at_risk(MemoryState& state, SystemCall& call, EffectSink sink);
// The effects of the call; `result` is that of the kernel, -errno on failure. Updates `state`.
void effects_of(MemoryState& state, const SystemCall& call, long result, EffectSink sink);

}  // namespace numascape
