// SPDX-License-Identifier: Apache-2.0
//
// Call stacks of allocations: the return addresses, found with the call frame information of the
// modules (call_frame_rules.h). Two stacks are equal if their return addresses are equal. A return
// address that repeats, as in a recursive function, counts once.
//
// Where this information ends (code that was generated, a function in assembly), the stack is
// copied with the registers, and unwound during conversion. Two of these are equal if the code
// addresses in their innermost words are; stale words only make one stack appear under several
// identifiers.
//
// A Python program allocates most of its memory through the same few functions of the interpreter:
// what differs is the Python code.
//
// A program with very many call stacks at one place gets fewer functions of each, so that they do
// not fill memory (kShardStacksCut).
#pragma once

#include <cstddef>
#include <cstdint>

#include "known_stacks.h"
#include "program_code.h"
#include "program_registers.h"
#include "python_frames.h"
#include "shard_writer.h"
#include "stack_words.h"

namespace numascape {

class CallStackLog {
  public:
    constexpr explicit CallStackLog(ShardWriter& shard) : shard_(shard) {}
    // Allocates its memory; false if there is none.
    bool open();
    // Frees its memory. It must not be used any more.
    void close();
    // A module with its ELF header at `start`, whose code is added to `code`.
    void add_module(uint64_t start, uint64_t end) {
        code_.add_module(start, end);
        python_.add_module(start, end);
    }
    void remove_module(uint64_t start) {
        code_.remove_module(start);
        python_.remove_module(start);
    }
    constexpr ProgramCode& code() { return code_; }
    // Identifies the call stack of code at `pc`, and writes it to the shard if it is new; 0 if the
    // process allows no system calls. For an allocation of at least a page (`bytes`), it includes
    // the Python functions that the thread executes.
    uint64_t identify(ThreadRecorder& recorder, const ProgramRegisters& registers, uint64_t pc,
                      uint64_t stack_pointer, uint64_t bytes, const HijackedWords& hijacked = {});
    // DWARF's canonical frame address of the code at `pc`; 0 = unknown.
    uint64_t frame_address(uint64_t pc, uint64_t stack_pointer, uint64_t frame_pointer);

  private:
    static constexpr KnownStacks::Limits kLimits{1 << 20,
                                                 1 << 20,
                                                 kShardStacksCut,
                                                 {512, 1 << 18, 12},
                                                 {2048, 1 << 19, KnownStacks::kFramesOfPlace}};
    // The program's code that called the allocation; its place also identifies the called function.
    struct Walk : WalkedStack {
        Walk(uint64_t pc, uint64_t from) : WalkedStack(pc), stack_pointer(from) {}
        uint64_t stack_pointer;  // of the last frame that was found
    };

    bool remember(uint64_t id) { return known_.remember(id) == KnownStacks::Remembered::kNew; }
    void walk(const StackWords& stack, CallFrame frame, Walk& found);
    uint64_t mix_code_words(const StackWords& stack, const Walk& walked) const;
    void write_frames(ThreadRecorder& recorder, uint64_t id, const Walk& walked);
    void write_python(ThreadRecorder& recorder, uint64_t id,
                      const PythonFrame (&found)[PythonFrames::kMax], uint32_t frames);
    uint64_t write_python_code(ThreadRecorder& recorder, uint64_t code);
    void write_copy(ThreadRecorder& recorder, const ProgramRegisters& from, uint64_t pc,
                    const StackWords& stack, uint64_t id);

    ShardWriter& shard_;
    ProgramCode code_;
    PythonFrames python_;
    KnownStacks known_{shard_, kLimits};
};

}  // namespace numascape
