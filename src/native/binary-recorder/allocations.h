// SPDX-License-Identifier: Apache-2.0
//
// The hooks of allocation functions, as the inserted code calls them.
#pragma once

#include <cstdint>

#include "dr_api.h"
#include "hooks.h"
#include "shard_writer.h"
#include "stack_words.h"

namespace numascape {

// Called at the first instruction of the function.
void allocation_called(const FunctionHook& hook, ThreadRecorder& recorder,
                       const ProgramRegisters& registers, uint64_t stack_pointer);
// Called in the stub, when the function has returned: puts the real return address below
// `stack_pointer`.
void allocation_returned(ThreadRecorder& recorder, uint64_t result, uint64_t stack_pointer);

// The real return address of a thread that DynamoRIO stopped in the stub's block.
uint64_t program_return(void* drcontext, uint64_t stack_pointer);

// The return addresses of the calling thread that are replaced now.
inline constexpr uint32_t kMaxHijackedReturns = 16;
uint32_t hijacked_returns(HijackedWord* into);

// An array with a u32 for each page of the window. It is not zero if a block of at least one page
// begins there.
const void* block_entries();

}  // namespace numascape
