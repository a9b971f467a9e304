// SPDX-License-Identifier: Apache-2.0
//
// The types of the records in the log of a shard, and what all of them begin with.
#pragma once

#include <cstdint>

namespace numascape {

enum class RecordType : uint8_t {
    kFirstTouch = 1,
    kThreadStart,
    kThreadEnd,
    kModuleLoad,
    kModuleUnload,
    kMap,
    kUnmap,
    kAlloc,
    kFree,
    kCounts,
    kSmallBlocks,
    kCallStack,
    kPlacement,
    kProcessExit,
    kPhase,
    kPhaseSwitch,
    kBlock,
    kBlockCounts,
    kSample,
    kPlace,
    kMove,
    kForget,
    kWriter,
    kCallFrames,
    kPythonFrames,
    kPythonCode,
    kMemoryRegion,
    kMemoryRegionEnd,
    kRegionName,
    kTransfers,
    kStackFrame,
    kStackFrameEnd,
    kKernelAccess,
    kThreadPointer,
    kInstructions,
    kWork,
    kPlacedCode,
    kAdvice,
    kTouchCallers,
};
inline constexpr RecordType kLastRecordType = RecordType::kTouchCallers;

// The first word of every record. `id` is the window page for first touches, otherwise the thread.
struct RecordHeader {
    uint8_t type;
    uint8_t flags;
    uint16_t words;  // length in 8-byte words, this header included
    uint32_t id;
};
static_assert(sizeof(RecordHeader) == 8);

// From here on, another thread writes this chunk, because the previous thread has ended. A first
// touch belongs to the thread that writes its record.
struct WriterRecord {
    RecordHeader header;  // id = the thread
};

}  // namespace numascape
