// SPDX-License-Identifier: Apache-2.0
//
// Hooked functions of the program. At their first instruction, the inserted code calls the
// recorder, which follows allocations and parallel regions.
#pragma once

#include <atomic>
#include <cstdint>

#include "call_stack_log.h"
#include "dr_api.h"

namespace numascape {

enum class Hooked : uint8_t {
    kMalloc,         // (bytes)
    kCalloc,         // (count, bytes)
    kRealloc,        // (block, bytes)
    kReallocArray,   // (block, count, bytes)
    kAligned,        // (alignment, bytes)
    kPosixMemalign,  // (&block, alignment, bytes)
    kFree,           // (block)
    kUnwind,         // raises an exception
    kRegion,         // (outlined function, ...): returns when the parallel region ends
    kRegionThird,    // (, , outlined function, ...): the same
    kRegionStart,    // (outlined function, ...): the region continues after the return
    kRegionEnd,      // (): the region ends
};

inline bool is_region(Hooked kind) {
    return kind >= Hooked::kRegion;
}

struct FunctionHook {
    uint64_t pc;  // first member, as in every description for the slow path
    std::atomic<uint64_t> address;
    std::atomic<bool> in_force;  // its module is loaded
    Hooked kind;
};

// The hook of a function that begins at this address, or null.
const FunctionHook* function_hook(app_pc function);

void hooks_module_loaded(const module_data_t* module);
void hooks_module_unloaded(const module_data_t* module);
void hooks_after_fork();

// Hooked functions return to these stubs, so that we see the return (return_stub.S): each stub
// steps back over the return address and returns.
extern "C" const char numascape_return_stub[] __attribute__((visibility("hidden")));
inline constexpr uint64_t kReturnStubBytes = 6;
inline uint64_t return_stub() {
    return reinterpret_cast<uint64_t>(numascape_return_stub);
}
inline uint64_t region_return_stub() {
    return return_stub() + kReturnStubBytes;
}
inline bool in_return_stub(app_pc pc) {
    return reinterpret_cast<uint64_t>(pc) - return_stub() < 2 * kReturnStubBytes;
}
inline bool in_region_stub(app_pc pc) {
    return reinterpret_cast<uint64_t>(pc) - region_return_stub() < kReturnStubBytes;
}

}  // namespace numascape
