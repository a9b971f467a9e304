// SPDX-License-Identifier: Apache-2.0
#include "stack_frames.h"

#include "frame_registers.h"
#include "os.h"

namespace numascape {
namespace {

void write(ShardWriter& shard, ThreadRecorder& recorder, const FrameGrowth& frame, uint64_t time) {
    auto* record = static_cast<StackFrameRecord*>(shard.append(
        recorder, RecordType::kStackFrame, recorder.thread, sizeof(StackFrameRecord), frame.flags));
    record->time = time;
    record->pc = frame.pc;
    record->start = frame.start;
    record->end = frame.end;
    record->frame_pointer = frame.frame_pointer;
    record->frame_address = frame.frame_address;
    shard.commit(recorder, record);
    shard.set_flag(kShardFrames);
}

void move_counts(ShardWriter& shard, ThreadRecorder& recorder, const FrameGrowth& frame,
                 uint64_t time) {
    shard.retire(recorder, window_page(frame.end - kRedZoneBytes), window_page(frame.start - 1) + 1,
                 time);
}

}  // namespace

StackFrames::Site* StackFrames::site(uint64_t pc) {
    for (uint32_t i = 0; i < site_count_; ++i) {
        if (sites_[i].pc == pc) {
            return &sites_[i];
        }
    }
    if (site_count_ == kMaxSites) {
        return nullptr;
    }
    sites_[site_count_] = {pc, 0, 0};
    return &sites_[site_count_++];
}

const StackFrames::Site* StackFrames::find(uint64_t pc) const {
    for (uint32_t i = 0; i < site_count_; ++i) {
        if (sites_[i].pc == pc) {
            return &sites_[i];
        }
    }
    return nullptr;
}

bool StackFrames::ends_exactly(const FrameGrowth& frame) const {
    const Site* of = find(frame.pc);
    return of != nullptr && of->ended < kExactEnds;
}

void StackFrames::end(ShardWriter& shard, ThreadRecorder& recorder, uint32_t index) {
    const FrameGrowth frame = frames_[index];
    frames_[index] = frames_[--frame_count_];
    const uint64_t time = os::ticks();
    move_counts(shard, recorder, frame, time);
    auto* record = static_cast<StackFrameEndRecord*>(shard.append(
        recorder, RecordType::kStackFrameEnd, recorder.thread, sizeof(StackFrameEndRecord)));
    record->time = time + 1;
    record->start = frame.start;
    record->end = frame.end;
    shard.commit(recorder, record);
}

void StackFrames::begin(ShardWriter& shard, ThreadRecorder& recorder, const FrameGrowth& growth) {
    Site* of = site(growth.pc);
    if (of == nullptr || of->begun == kMaxBegun || frame_count_ == kMaxFrames) {
        return;
    }
    ++of->begun;
    const uint64_t time = os::ticks();
    move_counts(shard, recorder, growth, time);
    write(shard, recorder, growth, time + 1);
    frames_[frame_count_++] = growth;
}

bool StackFrames::has(uint64_t pc, uint64_t start, uint64_t end) const {
    for (uint32_t i = 0; i < frame_count_; ++i) {
        const FrameGrowth& frame = frames_[i];
        if (frame.pc == pc && frame.start == start && frame.end == end) {
            return true;
        }
    }
    return false;
}

void StackFrames::grew(ShardWriter& shard, ThreadRecorder& recorder, const FrameGrowth& growth) {
    for (uint32_t i = 0; i < frame_count_;) {
        const bool is_gone = frames_[i].end < growth.start;
        if (is_gone && frames_[i].start > growth.end) {
            end(shard, recorder, i);
        } else {
            ++i;
        }
    }
    begin(shard, recorder, growth);
}

void StackFrames::shrank(ShardWriter& shard, ThreadRecorder& recorder, uint64_t stack_pointer) {
    for (uint32_t i = 0; i < frame_count_;) {
        if (frames_[i].end < stack_pointer && ends_exactly(frames_[i])) {
            ++site(frames_[i].pc)->ended;
            end(shard, recorder, i);
        } else {
            ++i;
        }
    }
}

void StackFrames::write_all(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time) const {
    for (uint32_t i = 0; i < frame_count_; ++i) {
        write(shard, recorder, frames_[i], time);
    }
}

}  // namespace numascape
