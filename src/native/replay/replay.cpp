// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "exception_reserve.h"
#include "first_touches.h"
#include "owner_counts.h"
#include "page_owners.h"
#include "pending_accesses.h"
#include "replayed_call_stacks.h"
#include "replayed_mappings.h"
#include "replayed_threads.h"
#include "site_counts.h"
#include "stack_frame_variables.h"
#include "window_pages.h"

namespace numascape {
namespace {

constexpr uint64_t kForever = ~uint64_t{0};
constexpr std::string_view kRuntimeName = "/libnumascape_runtime.so";

class Replayer {
  public:
    Replayer(Replay& out, const FramePlaces& frame_places)
        : out_(out),
          frames_(frame_places),
          owners_(out.owners, out.paths),
          touches_(owners_, out.touches),
          threads_(out.threads),
          counts_(owners_, threads_, out),
          pending_(owners_, counts_, sites_, out.shares, out.transfers),
          mappings_(owners_, touches_, pending_) {}

    // Reads what replaying needs to know before: small blocks, call stacks, starts of threads, and
    // the descriptions of blocks of code. Those of parent processes hold, too.
    void prepare(const std::vector<RecordView>& records);
    void run(std::vector<RecordView> records, const std::vector<Fault>& faults,
             const ShardHeader& header);
    void finish(const ShardReader& shard);
    // Adds up what the log's records count.
    void add_counted(const std::vector<RecordView>& records);

  private:
    void add_counted(CountPair counts) {
        out_.counted.reads += counts.reads;
        out_.counted.writes += counts.writes;
    }
    void apply(const RecordView& record);
    void apply(const Fault& fault, uint64_t time, uint64_t since);
    void thread_start(const RecordView& record);
    void thread_end(const RecordView& record);
    void module_load(const RecordView& record);
    void module_unload(const RecordView& record);
    void alloc(const RecordView& record);
    void free_block(const RecordView& record);
    void begin_region(const RecordView& record);
    void end_region(uint32_t owner, uint64_t time);
    void end_regions_within(uint64_t start, uint64_t bytes, uint64_t time);
    void begin_frame(const RecordView& record);
    void end_frame(const RecordView& record);
    void first_touch(const RecordView& record);
    void placement(const RecordView& record);
    void phase(const RecordView& record);

    Replay& out_;
    StackFrameVariables frames_;
    PageOwners owners_;
    FirstTouches touches_;
    ReplayedThreads threads_;
    OwnerCounts counts_;
    SiteCounts sites_;
    PendingAccesses pending_;
    ReplayedMappings mappings_;
    bool with_faults_ = false;
    ExceptionReserve reserve_;
};

void Replayer::prepare(const std::vector<RecordView>& records) {
    for (const RecordView& record : records) {
        if (record.type() == RecordType::kRegionName) {
            const auto& name = record.as<RegionNameRecord>();
            out_.region_names.try_emplace(
                name.name_id,
                RegionName{std::string(text_of(record.rest<RegionNameRecord>())), name.place});
        }
    }
    for (const RecordView& record : records) {
        if (is_of_call_stack(record)) {
            add_call_stack(record, out_);
        } else if (record.type() == RecordType::kSmallBlocks) {
            const auto& small = record.as<SmallBlocksRecord>();
            const bool regions = out_.region_names.contains(small.stack_id);
            owners_.add_small(record.header->id, small,
                              regions ? OwnerKind::kSmallRegions : OwnerKind::kSmall);
        } else if (record.type() == RecordType::kThreadStart) {
            threads_.add_start(record.as<ThreadStartRecord>(), record.header->id);
        } else if (record.type() == RecordType::kBlock) {
            sites_.describe(record);
        } else if (record.type() == RecordType::kPlace) {
            const auto& place = record.as<PlaceRecord>();
            out_.places.push_back(
                {place.pc, place.line, std::string(text_of(record.rest<PlaceRecord>()))});
        }
    }
    threads_.sort_starts();
}

void Replayer::run(std::vector<RecordView> records, const std::vector<Fault>& faults,
                   const ShardHeader& header) {
    std::erase_if(records, [](const RecordView& record) {
        return is_of_call_stack(record) || record.type() == RecordType::kSmallBlocks ||
               record.type() == RecordType::kBlock || record.type() == RecordType::kPlace ||
               record.type() == RecordType::kRegionName;
    });
    std::stable_sort(records.begin(), records.end(), [](const RecordView& a, const RecordView& b) {
        return time_of(a) < time_of(b);
    });
    const double ns = static_cast<double>(header.last_ns - header.start_ns);
    const double ticks = static_cast<double>(header.last_ticks - header.start_ticks);
    const auto in_ticks = [&](uint64_t time_ns) {
        const double since = static_cast<double>(static_cast<int64_t>(time_ns) -
                                                 static_cast<int64_t>(header.start_ns));
        const double at = ns > 0 ? since * ticks / ns : 0;
        return at > 0 ? header.start_ticks + static_cast<uint64_t>(at) : header.start_ticks;
    };
    with_faults_ = !faults.empty();
    if (with_faults_) {
        mappings_.keep_ends();
    }
    auto fault = faults.begin();
    const auto apply_faults = [&](uint64_t before) {
        for (; fault != faults.end() && in_ticks(fault->time_ns) < before; ++fault) {
            apply(*fault, in_ticks(fault->time_ns), in_ticks(fault->since_ns));
        }
    };
    for (const RecordView& record : records) {
        apply_faults(time_of(record));
        apply(record);
    }
    apply_faults(kForever);
}

void Replayer::apply(const Fault& fault, uint64_t time, uint64_t since) {
    const auto by = owners_.module_path(window_page(fault.pc));
    if (by && by->ends_with(kRuntimeName)) {
        return;  // the recorder's own memory
    }
    const uint32_t page = window_page(fault.address);
    const std::optional<uint32_t> known = threads_.at(fault.tid, time);
    const uint32_t thread = known.value_or(0);
    if (known) {
        ReplayedThreads::add_cpu(threads_.row(thread), fault.cpu);
    }
    const bool by_kernel = fault.pc >> 47 != 0;  // in a system call, for this thread
    // The earlier page may have been unmapped since, so that this page belongs to another mapping.
    const bool first =
        fault.meaning == FaultMeaning::kFirstTouch || mappings_.ended_after(page, since);
    if (!first && fault.meaning == FaultMeaning::kHinting) {
        pending_.add({thread, by_kernel ? 0 : fault.pc, time, true}, page);
        out_.hinting.thread.push_back(thread);
        out_.hinting.time.push_back(time);
        return;
    }
    Touch& touch = touches_.at(page);
    if (first && (!touch.present || touch.forgotten)) {
        const uint8_t flags = by_kernel ? kTouchedByKernel : 0;
        touch = {time, by_kernel ? 0 : fault.pc, thread, 0, flags, true, false, true, false, false};
    }
    pending_.add({thread, 0, time, false}, page);
}

void Replayer::apply(const RecordView& record) {
    switch (record.type()) {
        case RecordType::kFirstTouch:
            first_touch(record);
            break;
        case RecordType::kThreadStart:
            thread_start(record);
            break;
        case RecordType::kThreadEnd:
            thread_end(record);
            break;
        case RecordType::kModuleLoad:
            module_load(record);
            break;
        case RecordType::kModuleUnload:
            module_unload(record);
            break;
        case RecordType::kMap:
            mappings_.map(record);
            break;
        case RecordType::kUnmap:
            mappings_.unmap(record);
            break;
        case RecordType::kForget:
            mappings_.forget(record);
            break;
        case RecordType::kMove:
            mappings_.move(record);
            break;
        case RecordType::kAlloc:
            alloc(record);
            break;
        case RecordType::kFree:
            free_block(record);
            break;
        case RecordType::kMemoryRegion:
            begin_region(record);
            break;
        case RecordType::kMemoryRegionEnd: {
            const auto& ended = record.as<MemoryRegionEndRecord>();
            if (const auto owner = owners_.regions().last_at(ended.address)) {
                end_region(*owner, ended.time);
            }
            break;
        }
        case RecordType::kStackFrame:
            begin_frame(record);
            break;
        case RecordType::kStackFrameEnd:
            end_frame(record);
            break;
        case RecordType::kCounts: {
            const auto& counts = record.as<CountsRecord>();
            const auto* pairs =
                reinterpret_cast<const CountPair*>(record.rest<CountsRecord>().data());
            for (uint32_t i = 0; i < counts.pages; ++i) {
                counts_.count(
                    counts.first_page + i,
                    {record.header->id, counts.phase, (record.header->flags & kCountsOfLines) != 0},
                    pairs[i], counts.time);
            }
            break;
        }
        case RecordType::kPlacement:
            placement(record);
            break;
        case RecordType::kPhase:
            phase(record);
            break;
        case RecordType::kPhaseSwitch:
            out_.switches.phase.push_back(record.header->id);
            out_.switches.time.push_back(record.as<PhaseSwitchRecord>().time);
            break;
        case RecordType::kBlockCounts: {
            const auto& counts = record.as<BlockCountsRecord>();
            const auto* entries =
                reinterpret_cast<const BlockCountsEntry*>(record.rest<BlockCountsRecord>().data());
            for (uint32_t i = 0; i < counts.counters; ++i) {
                sites_.add_counter(entries[i].number, counts.phase, entries[i].words);
            }
            break;
        }
        case RecordType::kSample:
            pending_.add(record.as<SampleRecord>(), record.header->id, record.header->flags);
            break;
        case RecordType::kTransfers:
            pending_.add_transfers(record.as<TransfersRecord>(), record.header->id);
            break;
        default:
            break;
    }
}

void Replayer::phase(const RecordView& record) {
    const auto& phase = record.as<PhaseRecord>();
    out_.phases.push_back({record.header->id, record.header->flags, phase.repetitions, phase.time,
                           phase.end, phase.place, phase.caller,
                           std::string(text_of(record.rest<PhaseRecord>()))});
}

void Replayer::first_touch(const RecordView& record) {
    const auto& touch = record.as<FirstTouchRecord>();
    const uint32_t page = record.header->id;
    const bool writes = (record.header->flags & kTouchWrites) != 0;
    Touch& known = touches_.at(page);
    const bool is_there = known.present && !known.forgotten;
    // In shared memory, the kernel places the page at the first read already.
    if (is_there && (known.written || !writes || owners_.is_of_shared_mapping(page))) {
        return;
    }
    known = {touch.time,
             touch.pc,
             record.thread,
             static_cast<uint16_t>(touch.phase),
             record.header->flags,
             true,
             false,
             writes,
             false,
             false};
}

void Replayer::thread_start(const RecordView& record) {
    const auto& start = record.as<ThreadStartRecord>();
    ThreadRow& row = threads_.row(record.header->id);
    row.os_tid = start.os_tid;
    row.start = start.time;
    row.first_cpu = start.cpu;
    if (start.stack_end > start.stack_start) {
        owners_.begin_stack(record.header->id, start.stack_start,
                            start.stack_end - start.stack_start);
    }
}

void Replayer::thread_end(const RecordView& record) {
    const auto& end = record.as<ThreadEndRecord>();
    ThreadRow& row = threads_.row(record.header->id);
    row.end = end.time;
    row.name = text_of(std::as_bytes(std::span(end.name)));
    ReplayedThreads::add_cpu(row, end.cpu);
    if ((record.header->flags & kThreadEndsProcess) != 0) {
        return;
    }
    if (const auto stack = owners_.stack_of(record.header->id)) {
        end_regions_within(out_.owners.start[stack->owner], out_.owners.bytes[stack->owner],
                           end.time);
        touches_.emit(*stack);
        pending_.attribute(stack->pages, end.time);
    }
}

void Replayer::module_load(const RecordView& record) {
    const auto& module = record.as<ModuleRecord>();
    if (module.end <= module.start) {
        return;
    }
    const auto path = text_of(record.rest<ModuleRecord>());
    const uint32_t owner = owners_.load_module(module.start, module.end - module.start, path);
    out_.modules.push_back({std::string(path), module.start, module.end, module.load_bias, owner});
}

void Replayer::module_unload(const RecordView& record) {
    const auto& module = record.as<ModuleRecord>();
    if (module.end > module.start) {
        const auto pages = WindowPages::of(module.start, module.end - module.start);
        end_regions_within(module.start, module.end - module.start, module.time);
        touches_.emit_remaining(pages);
        pending_.attribute(pages, module.time);
        owners_.unload_module(pages);
    }
}

void Replayer::alloc(const RecordView& record) {
    const auto& block = record.as<AllocRecord>();
    if (block.bytes != 0 && block.bytes <= kWindowMask) {
        owners_.allocate(block, reserve_.is(block, out_.call_stacks, owners_));
    }
}

void Replayer::free_block(const RecordView& record) {
    const auto& freed = record.as<FreeRecord>();
    if (const auto block = owners_.block_at(freed.address)) {
        end_regions_within(freed.address, out_.owners.bytes[block->owner], freed.time);
        touches_.emit(*block);
        pending_.attribute(block->pages, freed.time);
        owners_.free(freed.address, freed.time);
    }
}

void Replayer::begin_region(const RecordView& record) {
    const auto& region = record.as<MemoryRegionRecord>();
    if (region.bytes < kPageBytes || region.bytes > kWindowMask ||
        !out_.region_names.contains(region.name_id)) {
        return;
    }
    end_regions_within(region.address, region.bytes, region.time);
    pending_.attribute_accesses(WindowPages::of(region.address, region.bytes), region.time);
    owners_.begin_region(region);
}

void Replayer::end_region(uint32_t owner, uint64_t time) {
    const auto pages = WindowPages::of(out_.owners.start[owner], out_.owners.bytes[owner]);
    touches_.emit_region(owner, owners_.regions().whole_pages(owner));
    pending_.attribute(pages, time);
    owners_.end_region(owner, time);
}

void Replayer::end_regions_within(uint64_t start, uint64_t bytes, uint64_t time) {
    for (const uint32_t owner : owners_.regions().within(start, bytes)) {
        end_region(owner, time);
    }
}

void Replayer::begin_frame(const RecordView& record) {
    const auto& frame = record.as<StackFrameRecord>();
    for (const auto& [variable, address, bytes] :
         frames_.variables(frame, (record.header->flags & kFrameProbed) != 0)) {
        end_regions_within(address, bytes, frame.time);
        pending_.attribute_accesses(WindowPages::of(address, bytes), frame.time);
        frames_.began(frame.end, owners_.begin_variable(
                                     {address, bytes, variable, record.header->id}, frame.time));
    }
}

void Replayer::end_frame(const RecordView& record) {
    const auto& ended = record.as<StackFrameEndRecord>();
    for (const uint32_t owner : frames_.take(ended.end)) {
        if (owners_.regions().lives(owner)) {
            end_region(owner, ended.time);
        }
    }
}

void Replayer::placement(const RecordView& record) {
    const auto& placed = record.as<PlacementRecord>();
    const auto* nodes = reinterpret_cast<const int16_t*>(record.rest<PlacementRecord>().data());
    for (uint32_t i = 0; i < placed.pages; ++i) {
        const uint32_t page = placed.first_page + i;
        const auto add = [&](uint32_t owner) {
            out_.placement.owner.push_back(owner);
            out_.placement.page.push_back(owners_.index_in(owner, page));
            out_.placement.node.push_back(nodes[i]);
        };
        // With faults, the nodes of all memory are in the log, but only touched pages belong to a
        // structure.
        if (nodes[i] < 0 || (with_faults_ && !touches_.at(page).present)) {
            continue;
        }
        if (const auto owner = owners_.sole(page)) {
            add(*owner);
            continue;
        }
        for (const uint32_t sharer : owners_.sharers(page)) {
            add(sharer);
        }
    }
}

void Replayer::add_counted(const std::vector<RecordView>& records) {
    for (const RecordView& record : records) {
        if (record.type() != RecordType::kCounts || (record.header->flags & kCountsOfLines) != 0) {
            continue;
        }
        const auto* pairs = reinterpret_cast<const CountPair*>(record.rest<CountsRecord>().data());
        for (uint32_t i = 0; i < record.as<CountsRecord>().pages; ++i) {
            add_counted(pairs[i]);
        }
    }
}

void Replayer::finish(const ShardReader& shard) {
    shard.each_table_entry(
        [&](const ShardReader::TableCount& entry) {
            if (!entry.of_lines) {
                add_counted(entry.counts);
            }
            counts_.count(entry.page, {entry.thread, entry.phase, entry.of_lines}, entry.counts,
                          shard.header().last_ticks);
        },
        [&](const ShardReader::TableCounter& counter) {
            sites_.add_counter(counter.number, counter.phase, counter.words);
        });
    pending_.attribute(WindowPages::all(), shard.header().last_ticks);
    sites_.finish(out_.sites, out_.samples, out_.shared_samples);
    touches_.emit_remaining(WindowPages::all());
    out_.damaged = shard.damaged();
}

}  // namespace

uint32_t Owners::add(OwnerKind k, uint64_t at, uint64_t size, uint64_t stack, uint32_t of_thread,
                     uint32_t path_index, uint8_t map_flags, uint64_t count) {
    kind.push_back(static_cast<uint8_t>(k));
    start.push_back(at);
    bytes.push_back(size);
    stack_id.push_back(stack);
    thread.push_back(of_thread);
    path.push_back(path_index);
    flags.push_back(map_flags);
    blocks.push_back(count);
    object.push_back(0);
    object_start.push_back(0);
    return static_cast<uint32_t>(kind.size() - 1);
}

Replay replay(const ShardReader& shard, const std::vector<const ShardReader*>& parents,
              const std::vector<Fault>& faults, const FramePlaces& frame_places) {
    Replay out;
    Replayer replayer(out, frame_places);
    for (const ShardReader* parent : parents) {
        replayer.prepare(parent->records());
    }
    auto records = shard.records();
    replayer.add_counted(records);
    replayer.prepare(records);
    replayer.run(std::move(records), faults, shard.header());
    replayer.finish(shard);
    return out;
}

}  // namespace numascape
