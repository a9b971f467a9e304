// SPDX-License-Identifier: Apache-2.0
//
// How to find the caller of the code at one address. This is the part of DWARF's call frame
// information (DWARF 5, section 6.4) that compilers use for nearly all functions. The frame's
// address (DWARF: canonical frame address) is the stack pointer before the call.
#pragma once

#include <cstdint>

#include "frame_registers.h"

namespace numascape {

enum class FrameAddress : uint8_t {
    kUnknown,           // no information, or a rule that is none of these
    kOutermost,         // the code has no caller
    kFromStackPointer,  // stack pointer + offset
    kFromFramePointer,  // frame pointer + offset
    kAtFramePointer,    // the word at frame pointer + offset: a stack that was realigned
};

enum class SavedFramePointer : uint8_t {
    kSame,            // the caller's value is still in the register
    kAtFrameAddress,  // the word at frame address + offset
    kAtFramePointer,  // the word at frame pointer + offset
};

struct CallFrameRule {
    int32_t offset = 0;
    int16_t saved_offset = 0;
    FrameAddress frame_address = FrameAddress::kUnknown;
    SavedFramePointer saved = SavedFramePointer::kSame;
};
static_assert(sizeof(CallFrameRule) == sizeof(uint64_t));

// The rule at the first instruction of a function, and in all of a function that does not change
// the stack.
inline constexpr CallFrameRule kAtFunctionStart{static_cast<int32_t>(-kReturnOffset), 0,
                                                FrameAddress::kFromStackPointer,
                                                SavedFramePointer::kSame};

// In the middle of a function that keeps a frame pointer. Such code begins with: push frame
// pointer; mov stack pointer to frame pointer.
inline constexpr CallFrameRule kByFramePointer{
    static_cast<int32_t>(-2 * kReturnOffset), static_cast<int16_t>(2 * kReturnOffset),
    FrameAddress::kFromFramePointer, SavedFramePointer::kAtFrameAddress};

struct CallFrame {
    uint64_t pc;  // 0: the frame that was examined was the outermost
    uint64_t stack_pointer;
    uint64_t frame_pointer;
};

enum class Step : uint8_t { kCaller, kOutermost, kUnknown };

// Replaces `frame` by its caller's. `read_word(address, word)` returns false where there is no
// memory. With kUnknown, `frame` is unchanged.
template <typename ReadWord>
Step step_to_caller(const CallFrameRule& rule, CallFrame& frame, const ReadWord& read_word) {
    const auto at = [](uint64_t base, int64_t offset) {
        return base + static_cast<uint64_t>(offset);
    };
    uint64_t address = 0;
    switch (rule.frame_address) {
        case FrameAddress::kUnknown:
            return Step::kUnknown;
        case FrameAddress::kOutermost:
            return Step::kOutermost;
        case FrameAddress::kFromStackPointer:
            address = at(frame.stack_pointer, rule.offset);
            break;
        case FrameAddress::kFromFramePointer:
            address = at(frame.frame_pointer, rule.offset);
            break;
        case FrameAddress::kAtFramePointer:
            if (!read_word(at(frame.frame_pointer, rule.offset), address)) {
                return Step::kUnknown;
            }
            break;
    }
    CallFrame caller{0, address, frame.frame_pointer};
    // The stack grows downwards: a caller's frame lies above.
    if (address <= frame.stack_pointer || !read_word(at(address, kReturnOffset), caller.pc)) {
        return Step::kUnknown;
    }
    if (rule.saved != SavedFramePointer::kSame) {
        const uint64_t base =
            rule.saved == SavedFramePointer::kAtFrameAddress ? address : frame.frame_pointer;
        if (!read_word(at(base, rule.saved_offset), caller.frame_pointer)) {
            return Step::kUnknown;
        }
    }
    if (caller.pc == 0) {
        return Step::kOutermost;
    }
    frame = caller;
    return Step::kCaller;
}

}  // namespace numascape
