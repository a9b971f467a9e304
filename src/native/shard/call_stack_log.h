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

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "call_frame_rules.h"
#include "program_registers.h"
#include "python_frames.h"
#include "shard_writer.h"

namespace numascape {

// A word on a stack that the recorder replaced, such as a return address, and the original word. 0:
// no word is replaced.
struct HijackedWord {
    uint64_t word = 0;
    uint64_t original = 0;
};

class CallStackLog {
  public:
    constexpr explicit CallStackLog(ShardWriter& shard) : shard_(shard) {}
    // Allocates its memory; false if there is none.
    bool open();
    // Frees its memory. It must not be used any more.
    void close();
    void add_code(uint64_t start, uint64_t end, bool present);
    // A module with its ELF header at `start`, whose code is added with add_code.
    void add_module(uint64_t start, uint64_t end) {
        rules_.add_module(start, end);
        python_.add_module(start, end);
    }
    void remove_module(uint64_t start) {
        rules_.remove_module(start);
        python_.remove_module(start);
    }
    // Identifies the call stack of code at `pc`, and writes it to the shard if it is new; 0 if the
    // process allows no system calls. For an allocation of at least a page (`bytes`), it includes
    // the Python functions that the thread executes.
    uint64_t identify(ThreadRecorder& recorder, const ProgramRegisters& registers, uint64_t pc,
                      uint64_t stack_pointer, uint64_t bytes, HijackedWord hijacked = {});
    // DWARF's canonical frame address of the code at `pc`; 0 = unknown.
    uint64_t frame_address(uint64_t pc, uint64_t stack_pointer, uint64_t frame_pointer);
    // The code [start, end) that the frame description of `pc` covers; false if there is none.
    bool find_function(uint64_t pc, uint64_t& start, uint64_t& end) const {
        return rules_.find_function(pc, start, end);
    }

  private:
    static constexpr uint32_t kMaxFrames = 48;
    // The program's code that called the allocation.
    struct Walk {
        uint64_t id;
        uint64_t place;  // identifies the called function and the first return addresses
        uint32_t frames = 0;
        uint32_t wanted = kMaxFrames;
        bool complete = true;    // reached the outermost function, or has `wanted` frames
        uint64_t stack_pointer;  // of the last frame that was found
        uint64_t addresses[kMaxFrames];
    };
    class StackWords;

    bool is_code(uint64_t value) const;
    uint64_t told_apart(uint64_t code) const;
    bool remember(uint64_t id);
    uint32_t frames_wanted(uint64_t place) const;
    void walk(const StackWords& stack, CallFrame frame, Walk& found);
    uint64_t mix_code_words(const StackWords& stack, const Walk& walked) const;
    void write_frames(ThreadRecorder& recorder, uint64_t id, const Walk& walked);
    void write_python(ThreadRecorder& recorder, uint64_t id,
                      const PythonFrame (&found)[PythonFrames::kMax], uint32_t frames);
    uint64_t write_python_code(ThreadRecorder& recorder, uint64_t code);
    void write_copy(ThreadRecorder& recorder, const ProgramRegisters& from, uint64_t pc,
                    const StackWords& stack, uint64_t id);

    // All code lies in two spans: that of the executable and that of the libraries. Most words on a
    // stack lie in neither, so this check comes first.
    struct Span {
        uint64_t start = ~uint64_t{0};
        uint64_t bytes = 0;
    };
    static constexpr uint64_t kLibraries = uint64_t{1} << 46;  // they lie from this address upwards

    ShardWriter& shard_;
    CallFrameRules rules_;
    PythonFrames python_;
    Span spans_[2];
    std::atomic<uint8_t>* code_pages_ = nullptr;  // by window page: 2 x unloads, + 1 if it has code
    std::atomic<uint64_t>* seen_ = nullptr;       // identifiers written; open addressing
    std::atomic<uint16_t>* place_stacks_ = nullptr;  // distinct stacks by their place's hash
    std::atomic<uint32_t> stacks_ = 0;               // in all
};

}  // namespace numascape
