// SPDX-License-Identifier: Apache-2.0
//
// The compiled recorder's runtime: a library that `numascape record` preloads. counting.cpp is what
// compiled code calls; process.cpp opens and finishes the shard; threads.cpp, allocations.cpp and
// mappings.cpp replace functions of the C library to follow threads and memory.
#pragma once

#include <cstdint>

#include "abi.h"
#include "address_space.h"
#include "call_stack_log.h"
#include "heap_blocks.h"
#include "phase_choice.h"
#include "shard_writer.h"

namespace numascape {

struct Options {
    char directory[1024];   // where shards go; "": nothing is recorded
    bool lines = true;      // find out which source lines access what
    bool regions = true;    // parallel regions are phases
    bool marks = true;      // so are the program's marks
    uint64_t every_ns = 0;  // so are time slices; 0 = no
    bool faults = false;    // page faults are recorded from outside: count nothing
};

extern Options options;
extern ShardWriter shard;
extern HeapBlocks heap;
extern CallStackLog call_stacks;
extern PhaseChoice phases;

struct ThreadState {
    ThreadRecorder* recorder;  // null before the thread's begin and after its end
    bool ended;
    bool inside;       // one of our replacements: what it calls is not the program's
    bool looking;      // for a real function: dlsym allocates and frees
    uint32_t regions;  // parallel regions, one inside the other
};
extern thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

// --- process.cpp
// Whether there is a shard. The first call after compiled code was seen opens it.
bool recording();
// Opens the shard if compiled code is loaded, or `wanted`; false when nothing can be recorded.
bool open_shard(bool wanted);
// Finds modules that were loaded since.
void write_new_modules(ThreadRecorder& recorder);
// What is only known at the end; the first call only.
void finish_shard(uint32_t flag);

// --- threads.cpp
// This thread's recorder, begun now if it was not; null after the thread's end, or without shard.
ThreadRecorder* begin_thread();

// --- mappings.cpp
// After the program got memory at an address: the C library moves the program break by itself, and
// what is new below it is the heap's.
void follow_break(ThreadRecorder& recorder, uint64_t address);

// --- counting.cpp
void counting_after_fork();

// The function of this name that the program would have called.
void* next_function(const char* name);
template <typename Function>
Function next_of(Function& known, const char* name) {
    if (known == nullptr) {
        known = reinterpret_cast<Function>(next_function(name));
    }
    return known;
}

// While one exists, what this thread does is not the program's.
class Inside {
  public:
    Inside() : before_(thread_state.inside) { thread_state.inside = true; }
    ~Inside() { thread_state.inside = before_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    bool nested() const { return before_; }

  private:
    bool before_;
};

}  // namespace numascape

#define NUMASCAPE_EXPORTED extern "C" __attribute__((visibility("default")))
