// SPDX-License-Identifier: Apache-2.0
//
// The calls that led to first touches: their return addresses. Two of them are equal if their
// return addresses are equal; an address that repeats, as in a recursive function, counts once. So
// the log has few of them, even if a loop touches millions of pages.
//
// A loop touches page after page from the same calls. The words of the stack that were read for the
// last touch are then still the same, and so are the callers. Comparing them is much faster than
// finding the callers again.
//
// Where call frame information ends, as in generated code, the outer callers are unknown. A guess
// from the words of the stack would often be wrong: generated code leaves old return addresses
// there.
#pragma once

#include <cstdint>

#include "call_frame_rule.h"
#include "known_stacks.h"
#include "program_code.h"
#include "shard_writer.h"
#include "stack_words.h"

namespace numascape {

class TouchCallers {
  public:
    constexpr TouchCallers(ShardWriter& shard, ProgramCode& code) : shard_(shard), code_(code) {}
    // Allocates its memory; false if there is none.
    bool open() { return known_.open(); }
    // Frees its memory. It must not be used any more.
    void close() { known_.close(); }

    // Identifies the callers of the code in which the thread is, and writes them to the shard if
    // they are new. 0 if they are not in the shard. `frame` has frame pointer 0 if its value is not
    // known.
    uint64_t of_code(ThreadRecorder& recorder, CallFrame frame, const HijackedWords& hijacked = {});
    // The same for the kernel, if the call with the return address `frame.pc` entered it.
    uint64_t of_call(ThreadRecorder& recorder, const CallFrame& frame,
                     const HijackedWords& hijacked = {});

  private:
    static constexpr KnownStacks::Limits kLimits{1 << 18,
                                                 1 << 17,
                                                 kShardCallersCut,
                                                 {512, 1 << 15, 12},
                                                 {2048, 1 << 16, KnownStacks::kFramesOfPlace}};
    static constexpr uint64_t kSeed = 0x746f75636865721;

    uint64_t of_stack(ThreadRecorder& recorder, const CallFrame& innermost,
                      const StackWords& stack);
    template <typename Words>
    void walk(CallFrame frame, const Words& words, WalkedStack& found);
    uint64_t write(ThreadRecorder& recorder, const WalkedStack& walked);

    ShardWriter& shard_;
    ProgramCode& code_;
    KnownStacks known_{shard_, kLimits};
};

}  // namespace numascape
