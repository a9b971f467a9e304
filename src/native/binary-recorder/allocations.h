// SPDX-License-Identifier: Apache-2.0
//
// The hooks of allocation functions: between the inserted code and allocations.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "dr_api.h"
#include "shard_writer.h"

namespace numascape {

enum class Allocator : uint8_t {
    kMalloc,         // (bytes)
    kCalloc,         // (count, bytes)
    kRealloc,        // (block, bytes)
    kReallocArray,   // (block, count, bytes)
    kAligned,        // (alignment, bytes)
    kPosixMemalign,  // (&block, alignment, bytes)
    kFree,           // (block)
    kUnwind,         // raises an exception
};

struct AllocationHook {
    uint64_t pc;  // first member, as of every description that out-of-line code gets
    std::atomic<uint64_t> address;
    Allocator kind;
};

// All general registers as out-of-line code pushes them, lowest address first; rsp is apart.
struct ProgramRegisters {
    uint64_t flags;
    uint64_t r15, r14, r13, r12, rbp, rbx;
    uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax;
};

// The hook of a function that begins at this address, or null.
const AllocationHook* allocation_hook(app_pc function);

// At the function's first instruction.
void allocation_called(const AllocationHook& hook, ThreadRecorder& recorder,
                       const ProgramRegisters& registers, uint64_t stack_pointer);
// Back from it, in the stub: puts the real return address below `stack_pointer`.
void allocation_returned(ThreadRecorder& recorder, uint64_t result, uint64_t stack_pointer);

// The stub (return_stub.S): it steps back over the return address and returns.
extern "C" const char numascape_return_stub[] __attribute__((visibility("hidden")));
inline constexpr uint64_t kReturnStubBytes = 6;
inline uint64_t return_stub() {
    return reinterpret_cast<uint64_t>(numascape_return_stub);
}
inline bool in_return_stub(app_pc pc) {
    return reinterpret_cast<uint64_t>(pc) - return_stub() < kReturnStubBytes;
}

// Where a thread that DynamoRIO found in the stub's block would have returned to.
uint64_t program_return(void* drcontext, uint64_t stack_pointer);

// u32 by window page, not zero where a block of a page or more begins.
const void* block_entries();

}  // namespace numascape
