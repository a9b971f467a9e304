// SPDX-License-Identifier: Apache-2.0
//
// Finds the code of the program that called the recorder, for the callers of first touches. The
// recorder's own functions have call frame information, too.
#include "runtime.h"
#include "stack_words.h"

// The linker defines both ends of this library.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const char _end[] __attribute__((visibility("hidden")));

namespace numascape {

constinit TouchCallers touch_callers(shard, call_stacks.code());

namespace {

constexpr unsigned kMaxOwnFrames = 16;

bool read_own_word(uint64_t address, uint64_t& word) {
    word = *reinterpret_cast<const uint64_t*>(address);
    return true;
}

// The caller of a function, both of which keep the frame pointer. They may be on different stacks,
// so no stack pointer is compared.
CallFrame caller_of(uint64_t frame_pointer) {
    CallFrame frame{1, 0, frame_pointer};
    step_to_caller(kByFramePointer, frame, read_own_word);
    return frame;
}

bool is_own_code(uint64_t pc) {
    return pc - reinterpret_cast<uint64_t>(__ehdr_start) <
           static_cast<uint64_t>(_end - __ehdr_start);
}

// Whether the frame is that of the compiled code.
bool made(const CompiledCall& call, const CallFrame& frame, const StackWords& stack) {
    if (call.pushed == 0) {
        return frame.pc == call.words[0];
    }
    for (uint32_t i = 0; i < call.pushed; ++i) {
        uint64_t word = 0;
        if (!stack(frame.stack_pointer + i * sizeof word, word) || word != call.words[i]) {
            return false;
        }
    }
    return true;
}

bool step_out(CallFrame& frame, const StackWords& stack) {
    const CallFrameRule rule = call_stacks.code().rule_of_call(frame.pc);
    return step_to_caller(rule, frame, stack) == Step::kCaller;
}

}  // namespace

// The program called its stub, the stub called own_stack.S, and that called the function of `from`.
uint64_t callers_of_compiled_code(ThreadRecorder& recorder, const void* from) {
    if (!shard.makes_calls()) {
        return 0;
    }
    const auto& call = *static_cast<const CompiledCall*>(from);
    const CallFrame on_own_stack = caller_of(reinterpret_cast<uint64_t>(call.frame));
    CallFrame frame = caller_of(on_own_stack.frame_pointer);
    const StackWords stack(recorder, frame.stack_pointer, {});
    for (unsigned i = 0; i < kMaxOwnFrames && step_out(frame, stack); ++i) {
        if (made(call, frame, stack)) {
            const uint64_t bytes = call.pushed * sizeof call.words[0];
            return touch_callers.of_code(
                recorder, {call.words[0] - 1, frame.stack_pointer + bytes, frame.frame_pointer});
        }
    }
    return 0;
}

uint64_t callers_of_replaced_function(ThreadRecorder& recorder, const void* frame_address) {
    if (!shard.makes_calls()) {
        return 0;
    }
    CallFrame frame = caller_of(reinterpret_cast<uint64_t>(frame_address));
    const StackWords stack(recorder, frame.stack_pointer, {});
    for (unsigned i = 0; i < kMaxOwnFrames && is_own_code(frame.pc); ++i) {
        if (!step_out(frame, stack)) {
            return 0;
        }
    }
    return touch_callers.of_call(recorder, frame);
}

}  // namespace numascape
