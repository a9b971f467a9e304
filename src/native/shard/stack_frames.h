// SPDX-License-Identifier: Apache-2.0
//
// The large frames on the stack of one thread: those of functions with large local arrays. The
// conversion reads from debug information where each variable is in its frame.
// Here, the counts of the pages are moved to the log when they get another owner.
//
// The end of a frame is recorded exactly only kExactEnds times per function. After that, a frame
// counts as present until another large frame takes its place. So a function that is called a
// million times costs nothing. Small frames of other functions that use these pages in between
// count as part of the frame. Functions whose frames replace each other very often are no longer
// followed.
#pragma once

#include <cstdint>

#include "shard_writer.h"

namespace numascape {

// A function moves the stack pointer of its thread down. Members as in StackFrameRecord.
struct FrameGrowth {
    uint64_t pc;
    uint64_t start;
    uint64_t end;
    uint64_t frame_pointer;
    uint64_t frame_address;
    uint8_t flags;
};

// Zero bytes are a valid object: a thread without large frames.
class StackFrames {
  public:
    // Whether this frame is present, or was the last one at this place. If so, `grew` need not be
    // called.
    bool has(uint64_t pc, uint64_t start, uint64_t end) const;
    void grew(ShardWriter& shard, ThreadRecorder& recorder, const FrameGrowth& growth);
    void shrank(ShardWriter& shard, ThreadRecorder& recorder, uint64_t stack_pointer);
    // For the child of a fork.
    void write_all(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time) const;
    void clear() { *this = {}; }

  private:
    struct Site {
        uint64_t pc;
        uint16_t begun;
        uint16_t ended;
    };
    static constexpr uint32_t kMaxFrames = 64;
    static constexpr uint32_t kMaxSites = 64;
    static constexpr uint16_t kExactEnds = 64;
    static constexpr uint16_t kMaxBegun = 4096;

    Site* site(uint64_t pc);
    const Site* find(uint64_t pc) const;
    bool ends_exactly(const FrameGrowth& frame) const;
    void begin(ShardWriter& shard, ThreadRecorder& recorder, const FrameGrowth& growth);
    void end(ShardWriter& shard, ThreadRecorder& recorder, uint32_t index);

    FrameGrowth frames_[kMaxFrames];
    Site sites_[kMaxSites];
    uint32_t frame_count_;
    uint32_t site_count_;
};

}  // namespace numascape
