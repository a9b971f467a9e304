// SPDX-License-Identifier: Apache-2.0
#include "replayer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "page_ranges.h"
#include "replayed_call_stacks.h"
#include "window_pages.h"

namespace numascape {
namespace {

constexpr uint64_t kForever = ~uint64_t{0};
constexpr std::string_view kRuntimeName = "/libnumascape_runtime.so";

}  // namespace

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
    std::stable_sort(records.begin(), records.end(),
                     [](const RecordView& a, const RecordView& b) { return a.time < b.time; });
    const double ns = static_cast<double>(header.last_ns - header.start_ns);
    const double ticks = static_cast<double>(header.last_ticks - header.start_ticks);
    const auto in_ticks = [&](uint64_t time_ns) {
        const double since = static_cast<double>(static_cast<int64_t>(time_ns) -
                                                 static_cast<int64_t>(header.start_ns));
        const double at = ns > 0 ? since * ticks / ns : 0;
        return at > 0 ? header.start_ticks + static_cast<uint64_t>(at) : header.start_ticks;
    };
    with_faults_ = !faults.empty();
    of_bursts_ = header.burst_groups != 0;
    if (with_faults_) {
        mappings_.keep_ends();
    }
    look_ahead(records, faults, header.program);
    auto fault = faults.begin();
    const auto apply_faults = [&](uint64_t before) {
        for (; fault != faults.end() && in_ticks(fault->time_ns) < before; ++fault) {
            const std::optional<Fault> known = of_bursts_ ? fault_of_program(*fault) : *fault;
            if (known) {
                apply(*known, in_ticks(fault->time_ns), in_ticks(fault->since_ns));
            }
        }
    };
    for (const RecordView& record : records) {
        apply_faults(record.time);
        apply(record);
    }
    apply_faults(kForever);
}

// Notes which pages will have several owners.
void Replayer::expect_owners(const RecordView& record) {
    if (record.type() == RecordType::kAlloc && PageOwners::can_have(record.as<AllocRecord>())) {
        owners_.expect(record.as<AllocRecord>());
    } else if (record.type() == RecordType::kMemoryRegion &&
               can_have_region(record.as<MemoryRegionRecord>())) {
        const auto& region = record.as<MemoryRegionRecord>();
        owners_.expect_ends(region.address, region.bytes);
    } else if (record.type() == RecordType::kThreadPointer) {
        const uint64_t pointer = record.as<ThreadPointerRecord>().pointer;
        for (const auto& variable : frames_.thread_variables(pointer)) {
            owners_.expect_ends(variable.address, variable.bytes);
        }
    } else if (record.type() == RecordType::kStackFrame) {
        for (const auto& variable : frames_.variables(record)) {
            owners_.expect_ends(variable.address, variable.bytes);
        }
    }
}

// What samples saw of shared pages, and which threads worked at the same time. Threads that hardly
// ever do anything, such as those of a library that has no work for them, do not count. While they
// wait, they may read the library's own variables again and again.
void Replayer::look_ahead(const std::vector<RecordView>& records, const std::vector<Fault>& faults,
                          std::string_view program) {
    constexpr double kMinOfMean = 0.1;
    std::unordered_map<uint32_t, double> work;
    std::unordered_map<uint32_t, uint32_t> thread_of;  // by the kernel's id
    double all = 0;
    PageRanges libraries;
    for (const RecordView& record : records) {
        expect_owners(record);
        if (record.type() == RecordType::kThreadStart) {
            thread_of[record.as<ThreadStartRecord>().os_tid] = record.header->id;
        }
        if (record.type() == RecordType::kModuleLoad &&
            text_of(record.rest<ModuleRecord>()) != program) {
            const auto& module = record.as<ModuleRecord>();
            const auto pages = WindowPages::of(module.start, module.end - module.start);
            libraries.assign(pages.first, pages.end, 0);
        }
    }
    for (const RecordView& record : records) {
        if (record.type() == RecordType::kSample) {
            const auto& sample = record.as<SampleRecord>();
            const bool of_library = libraries.find(record.header->id).has_value();
            work[sample.thread] += of_library ? 0 : static_cast<double>(sample.weight);
            all += of_library ? 0 : static_cast<double>(sample.weight);
            counts_.add_sample(record.header->id, sample.thread, sample);
        }
    }
    for (const Fault& fault : faults) {
        const auto thread = thread_of.find(fault.tid);
        if (fault.sampled && thread != thread_of.end()) {
            work[thread->second] += 1;
            all += 1;
        }
    }
    const double least = kMinOfMean * all / static_cast<double>(std::max<size_t>(work.size(), 1));
    ThreadLives& lives = pending_.lives();
    for (const RecordView& record : records) {
        const auto worked = work.find(record.header->id);
        if (worked == work.end() || worked->second < least) {
            continue;
        }
        if (record.type() == RecordType::kThreadStart) {
            lives.start(record.time);
        } else if (record.type() == RecordType::kThreadEnd) {
            lives.end(record.time);
        }
    }
    lives.sort();
    pending_.has_several_threads(work.size() > 1);
    pending_.has_callers(std::any_of(faults.begin(), faults.end(), [](const Fault& fault) {
        return fault.callers != kUnknownCallers;
    }));
}

void Replayer::apply(const RecordView& record) {
    switch (record.type()) {
        case RecordType::kThreadStart:
            thread_start(record);
            break;
        case RecordType::kThreadEnd:
            thread_end(record);
            break;
        case RecordType::kCounts:
            count_pages(record);
            break;
        case RecordType::kPhase:
            phase(record);
            break;
        case RecordType::kPhaseSwitch:
            phase_ = record.header->id;
            out_.switches.phase.push_back(phase_);
            out_.switches.time.push_back(record.as<PhaseSwitchRecord>().time);
            break;
        case RecordType::kBlockCounts:
            count_blocks_of_code(record);
            break;
        case RecordType::kInstructions: {
            const auto& executed = record.as<InstructionsRecord>();
            instructions_[{record.header->id, executed.phase}] +=
                static_cast<uint64_t>(executed.instructions);
            break;
        }
        case RecordType::kPlacedCode:
            placed_code_.place(record.as<PlacedCodeRecord>());
            break;
        case RecordType::kWork: {
            const auto& work = record.as<WorkRecord>();
            out_.work.thread.push_back(record.header->id);
            out_.work.level.push_back(static_cast<uint32_t>(work.level));
            out_.work.units.push_back(work.units);
            out_.work.counted_units.push_back(work.counted_units);
            out_.work.bursts.push_back(work.bursts);
            out_.work.burst_units.push_back(work.burst_units);
            break;
        }
        case RecordType::kSample:
            pending_.add_sample(record.as<SampleRecord>(), record.header->id);
            break;
        case RecordType::kKernelAccess:
            pending_.add_kernel_access(record.as<KernelAccessRecord>());
            break;
        case RecordType::kTransfers:
            pending_.add_transfers(record.as<TransfersRecord>(), record.header->id);
            break;
        default:
            apply_to_memory(record);
    }
}

void Replayer::count_pages(const RecordView& record) {
    const auto& counts = record.as<CountsRecord>();
    const auto* pairs = reinterpret_cast<const CountPair*>(record.rest<CountsRecord>().data());
    const bool of_lines = (record.header->flags & kCountsOfLines) != 0;
    for (uint32_t i = 0; i < counts.pages; ++i) {
        counts_.count(counts.first_page + i, {record.header->id, counts.phase, of_lines}, pairs[i],
                      counts.time);
    }
}

// In a damaged shard, the records may subtract more instructions of earlier threads than the tables
// contain. Such sums are left out.
void Replayer::add_instructions() {
    for (const auto& [by, instructions] : instructions_) {
        if (static_cast<int64_t>(instructions) > 0) {
            out_.instructions.thread.push_back(by.first);
            out_.instructions.phase.push_back(by.second);
            out_.instructions.instructions.push_back(instructions);
        }
    }
}

void Replayer::count_blocks_of_code(const RecordView& record) {
    const auto& counts = record.as<BlockCountsRecord>();
    const auto* entries =
        reinterpret_cast<const BlockCountsEntry*>(record.rest<BlockCountsRecord>().data());
    for (uint32_t i = 0; i < counts.counters; ++i) {
        sites_.add_counter(entries[i].number, counts.phase, entries[i].words);
    }
}

// The log also has the faults of the recorder, on its own memory.
std::optional<Fault> Replayer::fault_of_program(Fault fault) const {
    const uint32_t page = window_page(fault.address);
    const bool is_known =
        owners_.mapping_at(page) || owners_.module_path(page) || owners_.sole(page);
    if (!is_known || !used_windows_.contains(fault.address >> kWindowBits)) {
        return std::nullopt;
    }
    if (const auto pc = placed_code_.in_program(fault.pc)) {
        fault.pc = *pc;
        return fault;
    }
    // Otherwise, the recorder reads code before it is executed.
    const bool by_kernel = fault.pc >> 47 != 0;
    return by_kernel ? std::optional(fault) : std::nullopt;
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
        // The length of a sampled access is unknown. Most are to words of 8 bytes, or parts of
        // them.
        const auto seen =
            fault.sampled ? seen_parts(fault.address & ~uint64_t{7}, 0, 8) : SeenParts{};
        pending_.add(
            {thread, phase_, by_kernel ? 0 : fault.pc, time, fault.writes, seen, fault.callers},
            page);
        out_.hinting.thread.push_back(thread);
        out_.hinting.time.push_back(time);
        return;
    }
    Touch& touch = touches_.at(page);
    if (first && (!touch.present || touch.forgotten)) {
        const uint8_t flags = by_kernel ? kTouchedByKernel : 0;
        touch = {time,
                 by_kernel ? 0 : fault.pc,
                 0,
                 thread,
                 static_cast<uint16_t>(phase_),
                 flags,
                 true,
                 false,
                 true,
                 false,
                 false};
    }
}

void Replayer::phase(const RecordView& record) {
    const auto& phase = record.as<PhaseRecord>();
    out_.phases.push_back({record.header->id, record.header->flags, phase.repetitions, phase.time,
                           phase.end, phase.place, phase.caller,
                           std::string(text_of(record.rest<PhaseRecord>()))});
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
            if (counter.owner != 0) {
                instructions_[{counter.owner - 1, counter.phase}] +=
                    sites_.instructions(counter.number, counter.words);
            }
        });
    add_instructions();
    pending_.attribute(WindowPages::all(), shard.header().last_ticks);
    shard.release_pages();
    sites_.finish(out_.sites, out_.samples, out_.shared_samples);
    pending_.finish();
    touches_.emit_remaining(WindowPages::all());
    out_.damaged = shard.damaged();
}

}  // namespace numascape
