// SPDX-License-Identifier: Apache-2.0
#include "touch_callers.h"

namespace numascape {
namespace {

constexpr uint32_t kMaxSteps = 256;  // more than frames: recursive calls count as one frame

// The words of a stack, and a note of those that are read.
class NotedWords {
  public:
    NotedWords(const StackWords& stack, LastCallers& note) : stack_(stack), note_(note) {
        note_.words = 0;
    }
    bool operator()(uint64_t address, uint64_t& to) const {
        if (!stack_(address, to)) {
            return false;
        }
        if (note_.words < LastCallers::kMaxWords) {
            note_.word[note_.words] = {address, to};
        }
        ++note_.words;
        return true;
    }

  private:
    const StackWords& stack_;
    LastCallers& note_;
};

bool is_same(const LastCallers& last, const CallFrame& innermost, uint32_t code_changes,
             const StackWords& stack) {
    if (last.innermost.pc != innermost.pc ||
        last.innermost.stack_pointer != innermost.stack_pointer ||
        last.innermost.frame_pointer != innermost.frame_pointer ||
        last.code_changes != code_changes || last.words > LastCallers::kMaxWords) {
        return false;
    }
    for (uint32_t i = 0; i < last.words; ++i) {
        uint64_t now = 0;
        if (!stack(last.word[i].address, now) || now != last.word[i].value) {
            return false;
        }
    }
    return true;
}

}  // namespace

template <typename Words>
void TouchCallers::walk(CallFrame frame, const Words& words, WalkedStack& found) {
    for (uint32_t steps = 0; steps < kMaxSteps; ++steps) {
        if (!code_.contains(frame.pc)) {
            break;
        }
        found.add(frame.pc, code_, known_);
        const Step step = found.frames < found.wanted
                              ? step_to_caller(code_.rule_of_call(frame.pc), frame, words)
                              : Step::kUnknown;
        if (step != Step::kCaller) {
            found.complete = step == Step::kOutermost;
            return;
        }
    }
    found.complete = false;
}

uint64_t TouchCallers::write(ThreadRecorder& recorder, const WalkedStack& walked) {
    const uint64_t id = mix(walked.id, walked.complete ? 1 : 0) | 1;  // 0 means none
    switch (known_.remember(id)) {
        case KnownStacks::Remembered::kKnown:
            return id;
        case KnownStacks::Remembered::kNoRoom:
            return 0;
        case KnownStacks::Remembered::kNew:
            break;
    }
    known_.add(walked.place);
    const size_t bytes = walked.frames * sizeof walked.addresses[0];
    auto* record = static_cast<TouchCallersRecord*>(shard_.append(
        recorder, RecordType::kTouchCallers, recorder.thread, sizeof(TouchCallersRecord) + bytes,
        walked.complete ? 0 : kOuterCallersUnknown));
    record->callers_id = id;
    record->frames = walked.frames;
    __builtin_memcpy(record + 1, walked.addresses, bytes);
    shard_.commit(recorder, record);
    return id;
}

uint64_t TouchCallers::of_stack(ThreadRecorder& recorder, const CallFrame& innermost,
                                const StackWords& stack) {
    LastCallers& last = recorder.last_callers;
    const uint32_t changes = code_.changes();
    if (is_same(last, innermost, changes, stack)) {
        return last.id;
    }
    WalkedStack walked(kSeed);
    walk(innermost, NotedWords(stack, last), walked);
    last.innermost = innermost;
    last.code_changes = changes;
    last.id = write(recorder, walked);
    return last.id;
}

uint64_t TouchCallers::of_code(ThreadRecorder& recorder, CallFrame frame,
                               const HijackedWords& hijacked) {
    if (!shard_.makes_calls()) {
        return 0;
    }
    const StackWords stack(recorder, frame.stack_pointer, hijacked);
    const Step step = step_to_caller(code_.rule_at(frame.pc), frame, stack);
    if (step == Step::kCaller) {
        return of_stack(recorder, frame, stack);
    }
    WalkedStack none(kSeed);
    none.complete = step == Step::kOutermost;
    return write(recorder, none);
}

uint64_t TouchCallers::of_call(ThreadRecorder& recorder, const CallFrame& frame,
                               const HijackedWords& hijacked) {
    return shard_.makes_calls()
               ? of_stack(recorder, frame, StackWords(recorder, frame.stack_pointer, hijacked))
               : 0;
}

}  // namespace numascape
