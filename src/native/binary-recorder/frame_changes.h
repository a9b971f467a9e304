// SPDX-License-Identifier: Apache-2.0
//
// Finds the instructions with which the program's functions make and remove large frames on their
// stacks.
#pragma once

#include <cstdint>

#include "dr_api.h"
#include "scratch.h"
#include "shard_writer.h"

namespace numascape {

// How an instruction changes the stack pointer. Its new value is `reg` + `bytes`.
struct FrameChange {
    enum Kind : uint8_t {
        kNone,
        kGrows,            // by at least kLargeFrameBytes
        kProbes,           // the same, but the next instructions move it page by page
        kGrowsByRegister,  // the new value is the stack pointer - `reg`
        kMoves,            // up or down, by any distance
        kShrinks,          // by at least kLargeFrameBytes
        kEnds,             // the end of a frame of any size
    };
    Kind kind = kNone;
    reg_id_t reg = DR_REG_NULL;
    int32_t bytes = 0;
};

// --- arch/
FrameChange frame_change(instr_t* instruction);
// For kGrowsByRegister: inserts a jump to the returned label, for the case that `bytes` is less
// than kLargeFrameBytes. The code changes the arithmetic flags, which the instruction of the
// program sets afterwards.
instr_t* insert_unless_small(const Emitter& emit, reg_id_t bytes);

// --- large_frames.cpp
void large_frames_init();
void large_frames_after_fork(ThreadRecorder& recorder, uint64_t time);
// Whether a large frame begins or ends here. If so, the block must end here, too.
bool changes_large_frame(instr_t* instruction);
// If a large frame begins or ends here, inserts the call that records it.
void insert_frame_change(const Emitter& emit);

}  // namespace numascape
