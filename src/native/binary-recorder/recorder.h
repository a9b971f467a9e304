// SPDX-License-Identifier: Apache-2.0
//
// Declarations shared by the source files of the client. client.cpp sets everything up.
// instrument.cpp inserts the counting code. slow_paths.cpp is the slow path, where one subtraction
// is not enough. allocations.cpp, mappings.cpp and system_calls.cpp follow the memory of the
// program. maps_file.cpp lists the mappings of the program, without ours and DynamoRIO's.
// kept_values.cpp keeps the values to which the inserted code refers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "access_groups.h"
#include "address_space.h"
#include "allocations.h"
#include "call_stack_log.h"
#include "dr_api.h"
#include "locked_memory.h"
#include "memory_log.h"
#include "memory_regions.h"
#include "scratch.h"
#include "shard_writer.h"
#include "slow_paths.h"
#include "touch_callers.h"

namespace numascape {

struct ClientOptions {
    char directory[1024];  // where shards go
    bool count_stack;
    bool source_lines;     // record which instructions touch which structure
    bool attached;         // the program was running before the recorder
    bool regions;          // parallel regions are phases
    bool marks;            // the program's marks are phases
    uint64_t every_ns;     // time slices of this length are phases; 0 = no slices
    uint32_t max_tables;   // see ShardWriter::limit_tables
    CacheShape cache;      // also counts lines fetched from memory; no ways: no model
    uint64_t burst_units;  // of the first bursts, if only bursts are counted; 0: everything is
    uint64_t gap_units;    // ... one in each burst_units + gap_units
    uint64_t cost;         // not 0: the gaps change so that recording costs this (burst_cost.h)
};

extern ClientOptions options;

// Sets the options from the client's arguments; false, with an error printed, if one is not valid.
bool parse_options(int argc, const char* argv[]);
extern ShardWriter shard;
extern MemoryRegions memory_regions;
extern bool detached;  // the recorder has left, the program continues

inline constexpr size_t kOwnStackBytes = 64 * 1024;
// The words of a thread. The inserted code reaches each of them with one operand.
enum class ThreadSlot : unsigned {
    kTable,         // PageCounter *
    kArgument,      // for the slow path: an address, or a page counter's offset
    kSecond,        // ... a mask, or the table that the page counter is in
    kInfo,          // ... what it needs to know of the access
    kReturn,        // ... where it continues
    kStackPointer,  // the program's, while on the slow path
    kOwnStack,      // top of our stack (kOwnStackBytes)
    kCall,          // what this thread does in the allocator (allocations.cpp)
    kRegion,        // the parallel region that this thread began (regions.cpp)
    kVector,        // 64 bytes for a copy of a vector register
    kRecorder,      // ThreadRecorder *
    kFilter,        // FilterEntry *, of the thread's modelled cache
    kWaiting,       // WaitingLine *, where its next waiting line goes
    kLineStates,    // LineState *, of all lines (shared_lines.h)
    kHasLine,       // LineUser of this thread
    kOwnsLine,
    kIndirect,          // how many indirect jumps, calls and returns bursts saw (burst_cost.h)
    kIndirectRegister,  // ... the program's value of the register that counts
    kUnits,    // how many units of work are left of a burst, or until the next one (bursts.h)
    kRepeats,  // how often an instruction that repeats itself is to run
    kSpilled,  // the program's values of the scratch registers, one word per role
    kCount = kSpilled + 5
};
void thread_slots_init();
void thread_slots_exit();
opnd_t thread_slot(void* drcontext, ThreadSlot slot);
void load_thread_slot(void* drcontext, instrlist_t* block, instr_t* where, ThreadSlot slot,
                      reg_id_t into);
void* read_thread_slot(ThreadSlot slot);
void write_thread_slot(ThreadSlot slot, const void* value);
// The calling thread's slots, at an address that other threads can read. This function makes a
// system call.
void* const* thread_slots();

// This thread's recorder; null before the thread's start was seen.
ThreadRecorder* self();

// --- instrument.cpp
void instrument_init();
void instrument_exit();
void instrument_after_fork();

// --- slow_paths.cpp
extern SlowPaths slow_paths;
void slow_paths_init(void* drcontext);
// The program's instruction at `context` faulted: counts what a repeated string instruction did
// before the fault.
void count_faulted_string(const dr_mcontext_t& context);

// --- kept_values.cpp
// Data for code in the code cache: a copy that exists as long as the process. Equal values have one
// copy, so that a block can be built any number of times. A value begins with a PlaceInfo; bytes
// between members must be zero.
const void* keep_value(const void* value, size_t bytes);
void kept_values_after_fork();
// Called after detaching.
void kept_values_exit();

// --- special_accesses.cpp
// `number` is that of the special access in the plan; `last`: no other place of the block counts
// after this one.
void insert_special(const Emitter& emit, BlockScratch& block, const BlockPlan& plan,
                    uint32_t number, bool last);

// --- mappings.cpp
extern CallStackLog call_stacks;
// The call stack of the program's code at `pc`, see CallStackLog; `bytes` are allocated.
uint64_t call_stack(ThreadRecorder& recorder, const ProgramRegisters& registers, uint64_t pc,
                    uint64_t stack_pointer, uint64_t bytes);
extern TouchCallers touch_callers;
// For AccessingCode: `frame` is the CallFrame of the code.
uint64_t callers_of_code(ThreadRecorder& recorder, const void* frame);
// `frame` is that of the code that made a system call.
uint64_t callers_of_kernel(ThreadRecorder& recorder, const CallFrame& frame);

// --- allocations.cpp
void allocations_init();
// Called before detaching: no more return addresses are replaced, except by calls that have begun.
void allocations_stop();
// The thread is suspended and about to be released: its stack gets its return addresses back.
// Otherwise it would later return to unmapped memory.
void allocations_release(void* drcontext);
// Called after detaching.
void allocations_exit();
bool inside_allocator();
// The allocator mapped memory for the call in progress.
void allocator_mapped(uint64_t start, uint64_t bytes);
void write_live_blocks(ThreadRecorder& recorder, uint64_t time);
void allocations_after_fork();

// --- mappings.cpp
void mappings_init();
void write_mappings(ThreadRecorder& recorder, uint64_t time);
void write_modules(ThreadRecorder& recorder, uint64_t time);
void write_placement(ThreadRecorder& recorder, uint64_t time);

// --- system_calls.cpp
extern MemoryLog memory;
extern LockedMemory locked_memory;
void system_calls_init();

// --- seccomp.cpp
void seccomp_init();

// --- maps_file.cpp
// Calls visit for every mapping of the program (ours and DynamoRIO's left out).
void each_mapping(void (*visit)(const MappedRange&, void*), void* argument);

// --- symbol_table.cpp
// Calls visit for every function in the .symtab of the file of a module that is loaded at `start`:
// also for those that are in no dynamic table, such as a static program's malloc.
struct SymbolVisitor {
    void (*symbol)(std::string_view name, uint64_t address, void* argument);
    void* argument;
};
void each_function_symbol(const char* path, uint64_t start, const SymbolVisitor& visit);

}  // namespace numascape
