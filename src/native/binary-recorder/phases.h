// SPDX-License-Identifier: Apache-2.0
//
// The events that begin and end phases: the program's parallel regions (regions.cpp), its marks
// (include/numascape/phase.h), or the clock.
#pragma once

#include <cstdint>

#include "dr_api.h"
#include "hooks.h"
#include "shard_writer.h"

namespace numascape {

// --- phases.cpp
void phases_init();
// Called before the first code of the program runs.
void start_wanted_clock();
void phases_after_fork();
// Called at the end, or before detaching. When it returns, the clock's thread has ended.
void stop_clock();
// Called when no thread counts any more.
void phases_close();
// The first region of the process begins, or its last one ends.
void region_began(ThreadRecorder& recorder, uint64_t function, uint64_t caller);
void region_ended(ThreadRecorder& recorder);
// The program came to a mark; `name` is an address in its memory, or 0.
void mark_reached(uint64_t pc, uint64_t name);

// --- regions.cpp
void regions_init();
void regions_after_fork();
// The same as the functions of allocations.cpp in recorder.h: the first is called before detaching,
// the second for each suspended thread that is about to be released.
void regions_stop();
void regions_release(void* drcontext);
void region_called(const FunctionHook& hook, ThreadRecorder& recorder,
                   const ProgramRegisters& registers, uint64_t stack_pointer);
void region_returned(ThreadRecorder& recorder, uint64_t stack_pointer);
// The real return address of a thread that DynamoRIO stopped in the stub's block.
uint64_t region_return(void* drcontext, uint64_t stack_pointer);
// The return address of this thread's region, for code that finds region_return_stub() on its
// stack.
uint64_t region_return_address();

// --- marks.cpp
// Whether the instruction marks a phase or a memory region, and is recorded.
bool is_mark(instr_t* instruction);
// If the instruction is such a mark, inserts the call that records it.
void insert_mark(void* drcontext, instrlist_t* list, instr_t* where);

}  // namespace numascape
