// SPDX-License-Identifier: Apache-2.0
//
// The hooks of allocation functions, as the inserted code calls them.
#pragma once

#include <cstdint>

#include "dr_api.h"
#include "hooks.h"
#include "shard_writer.h"

namespace numascape {

// At the function's first instruction.
void allocation_called(const FunctionHook& hook, ThreadRecorder& recorder,
                       const ProgramRegisters& registers, uint64_t stack_pointer);
// Back from it, in the stub: puts the real return address below `stack_pointer`.
void allocation_returned(ThreadRecorder& recorder, uint64_t result, uint64_t stack_pointer);

// Where a thread that DynamoRIO found in the stub's block would have returned to.
uint64_t program_return(void* drcontext, uint64_t stack_pointer);

// u32 by window page, not zero where a block of a page or more begins.
const void* block_entries();

}  // namespace numascape
