// SPDX-License-Identifier: Apache-2.0
//
// The code of a place, on the slow path, with the registers from which its callers are found.
#pragma once

#include <cstdint>

#include "recorder.h"
#include "scratch.h"

namespace numascape {

inline uint64_t program_stack_pointer() {
    return reinterpret_cast<uint64_t>(read_thread_slot(ThreadSlot::kStackPointer));
}

// 0 if it is not known.
inline uint64_t program_frame_pointer(const PlaceInfo& place, const ProgramRegisters& registers) {
    if (place.frame_pointer == FramePointerAt::kInRegister) {
        return frame_pointer(registers);
    }
    if (place.frame_pointer == FramePointerAt::kNowhere) {
        return 0;
    }
    const auto role = static_cast<Role>(static_cast<unsigned>(place.frame_pointer) -
                                        static_cast<unsigned>(FramePointerAt::kInSlot));
    return reinterpret_cast<uint64_t>(read_thread_slot(spill_slot(role)));
}

// The code of a place, with the registers that the program has there.
class PlaceCode {
  public:
    PlaceCode(const PlaceInfo& place, const void* saved)
        : PlaceCode({place.pc, program_stack_pointer(),
                     program_frame_pointer(place, *static_cast<const ProgramRegisters*>(saved))}) {}
    explicit PlaceCode(const CallFrame& frame) : frame_(frame) {}

    AccessingCode code() const { return code_at(frame_.pc); }
    // Another instruction of the place.
    AccessingCode code_at(uint64_t pc) const { return {pc, callers_of_code, &frame_}; }

  private:
    CallFrame frame_;
};

}  // namespace numascape
