// SPDX-License-Identifier: Apache-2.0
#include "record_view.h"

#include <array>

#include "shard_format.h"

namespace numascape {
namespace {

bool pages_fit(uint64_t first, uint64_t pages) {
    return pages <= kWindowPages && first <= kWindowPages - pages;
}

// Whether so many entries fit behind the fixed part.
template <typename Record, typename Entry>
bool entries_fit(const RecordView& record, uint64_t entries) {
    return entries <= record.rest<Record>().size() / sizeof(Entry);
}

// --- The checks of records. `threads`: of the shard.

bool always(const RecordView&, uint32_t) {
    return true;
}

bool id_is_page(const RecordView& record, uint32_t) {
    return record.header->id < kWindowPages;
}

bool id_is_thread(const RecordView& record, uint32_t threads) {
    return record.header->id < threads;
}

bool id_is_phase(const RecordView& record, uint32_t) {
    return record.header->id < kMaxPhases;
}

bool sample_agrees(const RecordView& record, uint32_t threads) {
    const auto& sample = record.as<SampleRecord>();
    return record.header->id < kWindowPages && sample.thread < threads && sample.phase < kMaxPhases;
}

bool kernel_access_agrees(const RecordView& record, uint32_t threads) {
    const auto& access = record.as<KernelAccessRecord>();
    return access.pages != 0 && pages_fit(record.header->id, access.pages) &&
           access.thread < threads && access.phase < kMaxPhases;
}

bool transfers_agree(const RecordView& record, uint32_t threads) {
    const auto& transfers = record.as<TransfersRecord>();
    return record.header->id < kWindowPages && transfers.from < threads && transfers.to < threads &&
           transfers.phase < kMaxPhases;
}

bool counts_agree(const RecordView& record, uint32_t threads) {
    const auto& counts = record.as<CountsRecord>();
    return record.header->id < threads && counts.phase < kMaxPhases &&
           pages_fit(counts.first_page, counts.pages) &&
           entries_fit<CountsRecord, CountPair>(record, counts.pages);
}

bool block_agrees(const RecordView& record, uint32_t) {
    return record.header->id < kCounters &&
           entries_fit<BlockRecord, BlockAccess>(record, record.as<BlockRecord>().accesses);
}

bool block_counts_agree(const RecordView& record, uint32_t) {
    const auto& counts = record.as<BlockCountsRecord>();
    return counts.phase < kMaxPhases &&
           entries_fit<BlockCountsRecord, BlockCountsEntry>(record, counts.counters);
}

bool instructions_agree(const RecordView& record, uint32_t threads) {
    return record.header->id < threads && record.as<InstructionsRecord>().phase < kMaxPhases;
}

bool work_agrees(const RecordView& record, uint32_t threads) {
    const auto& work = record.as<WorkRecord>();
    return record.header->id < threads && work.level < kMaxBurstLevels &&
           work.counted_units <= work.units;
}

bool placement_agrees(const RecordView& record, uint32_t) {
    const auto& placement = record.as<PlacementRecord>();
    return pages_fit(placement.first_page, placement.pages) &&
           entries_fit<PlacementRecord, int16_t>(record, placement.pages);
}

bool call_stack_agrees(const RecordView& record, uint32_t) {
    return entries_fit<CallStackRecord, std::byte>(record, record.as<CallStackRecord>().bytes);
}

bool call_frames_agree(const RecordView& record, uint32_t) {
    return entries_fit<CallFramesRecord, uint64_t>(record, record.as<CallFramesRecord>().frames);
}

bool touch_callers_agree(const RecordView& record, uint32_t) {
    return entries_fit<TouchCallersRecord, uint64_t>(record,
                                                     record.as<TouchCallersRecord>().frames);
}

bool python_frames_agree(const RecordView& record, uint32_t) {
    return entries_fit<PythonFramesRecord, PythonFrameEntry>(
        record, record.as<PythonFramesRecord>().frames);
}

bool python_code_agrees(const RecordView& record, uint32_t) {
    const auto& code = record.as<PythonCodeRecord>();
    return uint64_t{code.file_bytes} + code.function_bytes + code.line_bytes <=
           record.rest<PythonCodeRecord>().size();
}

// --- The form of each type of record.

struct RecordForm {
    RecordType type;
    size_t fixed_bytes;
    bool has_time;  // directly after the header
    bool (*agrees)(const RecordView& record, uint32_t threads);
};

template <typename Record>
constexpr RecordForm form(RecordType type,
                          bool (*agrees)(const RecordView&, uint32_t threads) = always) {
    constexpr bool kHasTime = requires(Record record) { record.time; };
    if constexpr (kHasTime) {
        static_assert(offsetof(Record, time) == sizeof(RecordHeader));
    }
    return {type, sizeof(Record), kHasTime, agrees};
}

constexpr std::array kForms = {
    form<FirstTouchRecord>(RecordType::kFirstTouch, id_is_page),
    form<ThreadStartRecord>(RecordType::kThreadStart, id_is_thread),
    form<ThreadEndRecord>(RecordType::kThreadEnd, id_is_thread),
    form<ModuleRecord>(RecordType::kModuleLoad),
    form<ModuleRecord>(RecordType::kModuleUnload),
    form<MapRecord>(RecordType::kMap),
    form<UnmapRecord>(RecordType::kUnmap),
    form<AllocRecord>(RecordType::kAlloc),
    form<FreeRecord>(RecordType::kFree),
    form<CountsRecord>(RecordType::kCounts, counts_agree),
    form<SmallBlocksRecord>(RecordType::kSmallBlocks, id_is_page),
    form<CallStackRecord>(RecordType::kCallStack, call_stack_agrees),
    form<PlacementRecord>(RecordType::kPlacement, placement_agrees),
    form<ProcessExitRecord>(RecordType::kProcessExit),
    form<PhaseRecord>(RecordType::kPhase, id_is_phase),
    form<PhaseSwitchRecord>(RecordType::kPhaseSwitch, id_is_phase),
    form<BlockRecord>(RecordType::kBlock, block_agrees),
    form<BlockCountsRecord>(RecordType::kBlockCounts, block_counts_agree),
    form<SampleRecord>(RecordType::kSample, sample_agrees),
    form<PlaceRecord>(RecordType::kPlace),
    form<MoveRecord>(RecordType::kMove),
    form<ForgetRecord>(RecordType::kForget),
    form<WriterRecord>(RecordType::kWriter, id_is_thread),
    form<CallFramesRecord>(RecordType::kCallFrames, call_frames_agree),
    form<PythonFramesRecord>(RecordType::kPythonFrames, python_frames_agree),
    form<PythonCodeRecord>(RecordType::kPythonCode, python_code_agrees),
    form<MemoryRegionRecord>(RecordType::kMemoryRegion),
    form<MemoryRegionEndRecord>(RecordType::kMemoryRegionEnd),
    form<RegionNameRecord>(RecordType::kRegionName),
    form<TransfersRecord>(RecordType::kTransfers, transfers_agree),
    form<StackFrameRecord>(RecordType::kStackFrame, id_is_thread),
    form<StackFrameEndRecord>(RecordType::kStackFrameEnd),
    form<KernelAccessRecord>(RecordType::kKernelAccess, kernel_access_agrees),
    form<ThreadPointerRecord>(RecordType::kThreadPointer, id_is_thread),
    form<InstructionsRecord>(RecordType::kInstructions, instructions_agree),
    form<WorkRecord>(RecordType::kWork, work_agrees),
    form<PlacedCodeRecord>(RecordType::kPlacedCode),
    form<AdviceRecord>(RecordType::kAdvice),
    form<TouchCallersRecord>(RecordType::kTouchCallers, touch_callers_agree),
};

constexpr size_t number_of(RecordType type) {
    return static_cast<size_t>(type) - 1;
}

constexpr bool in_order() {
    for (size_t i = 0; i < kForms.size(); ++i) {
        if (number_of(kForms[i].type) != i) {
            return false;
        }
    }
    return kForms.size() == number_of(kLastRecordType) + 1;
}
static_assert(in_order());

}  // namespace

size_t fixed_bytes(RecordType type) {
    return number_of(type) < kForms.size() ? kForms[number_of(type)].fixed_bytes : 0;
}

RecordView::RecordView(const RecordHeader* record, uint32_t writer)
    : header(record),
      time(kForms[number_of(type())].has_time ? as<FirstTouchRecord>().time : 0),
      thread(writer) {}

bool consistent(const RecordView& record, uint32_t threads) {
    return kForms[number_of(record.type())].agrees(record, threads);
}

std::string_view text_of(std::span<const std::byte> bytes) {
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return all.substr(0, all.find('\0'));
}

}  // namespace numascape
