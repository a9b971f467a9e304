// SPDX-License-Identifier: Apache-2.0
//
// The runtime of the compiled recorder: a library that `numascape record` preloads. Compiled code
// calls counting.cpp. process.cpp opens and finishes the shard. threads.cpp, allocations.cpp and
// mappings.cpp replace functions of the C library to follow threads and memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi.h"
#include "address_space.h"
#include "call_stack_log.h"
#include "heap_blocks.h"
#include "memory_regions.h"
#include "own_stack.h"
#include "phase_choice.h"
#include "shard_writer.h"
#include "touch_callers.h"

namespace numascape {

struct RuntimeOptions {
    char directory[1024];      // where shards go; "": nothing is recorded
    bool source_lines = true;  // record which source lines access which structure
    bool regions = true;       // parallel regions are phases
    bool marks = true;         // the program's marks are phases
    uint64_t every_ns = 0;     // time slices of this length are phases; 0 = no slices
    bool faults = false;       // the fault recorder records page faults: count no accesses
};

extern RuntimeOptions options;
extern ShardWriter shard;
extern MemoryRegions memory_regions;
extern HeapBlocks heap;
extern CallStackLog call_stacks;
extern TouchCallers touch_callers;
extern PhaseChoice phases;

// The part of siginfo_t that the kernel fills for a queued signal.
struct QueuedSignal {
    uint64_t words[6];
};
constexpr uint32_t kDelayedSignals = 8;

struct ThreadState {
    char* own_stack_top;       // null while the thread has none (own_stack.h)
    bool deferred;             // signals wait until nothing is half written
    ThreadRecorder* recorder;  // null before the thread's begin and after its end
    bool ended;
    bool inside;               // in a replaced function: calls are not made by the program
    bool looking;              // dlsym looks up a function; it allocates and frees
    bool forking;              // in fork(), with all locks held
    TableWord* waiting_words;  // of modules that were entered from within the recorder
    uint32_t writing;          // scopes of Writing, one inside the other
    uint32_t regions;          // parallel regions, one inside the other
    uint64_t let_in;           // the signals that are unblocked when nothing is being written
    // Real-time signals that wait, in order (signals.cpp).
    QueuedSignal delayed[kDelayedSignals];
    uint32_t delayed_count;
};
static_assert(offsetof(ThreadState, own_stack_top) == NUMASCAPE_OWN_STACK_TOP);
static_assert(offsetof(ThreadState, deferred) == NUMASCAPE_DEFERRED);
extern thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

// Whether `stack_pointer` is on this thread's own stack.
inline bool is_on_own_stack(uint64_t stack_pointer) {
    const auto top = reinterpret_cast<uint64_t>(thread_state.own_stack_top);
    return top - stack_pointer < NUMASCAPE_OWN_STACK_BYTES;
}

// --- process.cpp
const char* program_path();
// Whether a shard is open and takes records. open_shard opens it.
bool recording();
// Opens the shard if compiled code is loaded, or if `wanted`; false if nothing can be recorded.
bool open_shard(bool wanted);
// Writes what is only known at the end. Only the first call has an effect.
void finish_shard(uint32_t flag);
bool is_finished();

// --- time_slices.cpp
// From now on, a thread of ours begins a phase every `options.every_ns`.
void start_time_slices();

// --- threads.cpp
// This thread's recorder, which is created if needed; null after the thread's end, or without a
// shard.
ThreadRecorder* begin_thread();
// The next function of each waiting module asks for the thread's table again.
void let_modules_ask_again();

// Called before and after a fork. The first function waits until no thread is in the middle of a
// change, which the child would see half done.
void threads_before_fork();
void forked_in_parent();
void forked_in_child();

// The process is about to forbid system calls to itself. All needed system calls are made now;
// counting continues. end_calls returns false if nothing is recorded. resume_calls: the process did
// not forbid system calls; source lines are not recorded any more.
bool end_calls();
void resume_calls();

// --- forks.cpp
// concerns_process: whether a call of syscall(2) makes a process with a copy of our memory, or
// forbids system calls. call_for_process makes such a call, and returns the result of the kernel.
bool concerns_process(long number, long first);
long call_for_process(long number, const long (&arguments)[6]);

// --- seccomp.cpp
// Makes a call that forbids system calls (forbidden_calls.h). Returns the result of the kernel.
long call_that_forbids_calls(long number, const long (&arguments)[6]);

// --- signals.cpp
// Delivers the signals that arrived while this thread wrote. If the thread is on its own stack,
// they wait until it has left this stack.
void let_signals_in();
// From now on, the program's handlers, including existing ones, wait while we write.
void take_over_handlers();
void signals_before_fork();
void signals_after_fork(bool child);

// --- modules.cpp
// Writes what was loaded or unloaded since.
void write_new_modules(ThreadRecorder& recorder);
bool compiled_code_is_loaded();
void modules_before_fork();
void modules_after_fork(bool child);

// --- counting.cpp
// Page counters that are never read.
void* spare_counters();
// From now on, this thread counts in spare_counters. This function makes no system call if
// spare_counters was called before.
void stop_counting();
void counting_before_fork();
void counting_after_fork(bool child);
// The memory of a program or library is unmapped, with the compiled modules in it.
void forget_compiled_modules(uint64_t start, uint64_t end);

// --- callers.cpp
// How compiled code called one of the functions of counting.cpp.
struct CompiledCall {
    const void* frame;  // __builtin_frame_address(0) of this function
    uint32_t pushed;    // words that the code pushed before the call: see counting_assembly.cpp
    uint64_t words[4];  // these; or only its return address

    AccessingCode code() const;
};
inline uint64_t word_of(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}
// For AccessingCode: the callers of the code that made the CompiledCall `call`.
uint64_t callers_of_compiled_code(ThreadRecorder& recorder, const void* call);
inline AccessingCode CompiledCall::code() const {
    return {words[0] - 1, callers_of_compiled_code, this};
}
// The callers of the kernel, which a function that replaces one of the C library has called.
// `frame_address` is that of the calling function of ours.
uint64_t callers_of_replaced_function(ThreadRecorder& recorder, const void* frame_address);

// The function of this name that the program would have called.
void* next_function(const char* name);
template <typename Function>
Function next_of(Function& known, const char* name) {
    if (known == nullptr) {
        known = reinterpret_cast<Function>(next_function(name));
    }
    return known;
}

// While such an object exists, no signal handler runs on this thread: it could enter this code
// again, and find half-written records and held locks. Signals wait (signals.cpp), except those
// that report a fault of the thread itself.
class Writing {
  public:
    Writing() : nested_(thread_state.writing++ != 0) { barrier(); }
    ~Writing() {
        barrier();
        if (--thread_state.writing == 0) {
            barrier();
            if (__builtin_expect(thread_state.deferred, 0)) {
                let_signals_in();
            }
        }
    }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    // True if a handler that was not installed through the C library has interrupted this code.
    bool nested() const { return nested_; }

  private:
    static void barrier() { __asm__ volatile("" : : : "memory"); }
    bool nested_;
};

// While such an object exists, the actions of this thread do not count as the program's.
class ReentrancyGuard {
  public:
    ReentrancyGuard() : before_(thread_state.inside) { thread_state.inside = true; }
    ~ReentrancyGuard() { thread_state.inside = before_; }
    ReentrancyGuard(const ReentrancyGuard&) = delete;
    ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;
    bool nested() const { return before_; }

  private:
    Writing writing_;
    bool before_;
};

// Used within ReentrancyGuard while the replaced function runs, so that signals are allowed.
class Real {
  public:
    Real() : writing_(thread_state.writing) {
        thread_state.writing = 0;
        if (thread_state.deferred) {
            let_signals_in();
        }
    }
    ~Real() { thread_state.writing = writing_; }
    Real(const Real&) = delete;
    Real& operator=(const Real&) = delete;

  private:
    uint32_t writing_;
};

}  // namespace numascape

#define NUMASCAPE_EXPORTED extern "C" __attribute__((visibility("default")))
