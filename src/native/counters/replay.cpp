// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "first_touches.h"
#include "page_owners.h"
#include "page_ranges.h"
#include "page_shares.h"
#include "site_counts.h"
#include "window_pages.h"

namespace numascape {
namespace {

constexpr uint64_t kForever = ~uint64_t{0};
constexpr std::string_view kRuntimeName = "/libnumascape_runtime.so";

class Replayer {
  public:
    explicit Replayer(Replay& out)
        : out_(out), owners_(out.owners, out.paths), touches_(owners_, out.touches) {}

    // Small blocks and call stacks; `own` false for what a parent process did.
    void prepare(const std::vector<RecordView>& records);
    void run(std::vector<RecordView> records, const std::vector<Fault>& faults,
             const ShardHeader& header);
    void finish(const ShardReader& shard);

  private:
    void apply(const RecordView& record);
    void apply(const Fault& fault, uint64_t time, uint64_t since);
    bool is_first_touch(const Fault& fault, uint32_t page, uint64_t since) const;
    void thread_start(const RecordView& record);
    void thread_end(const RecordView& record);
    void module_load(const RecordView& record);
    void module_unload(const RecordView& record);
    void map(const RecordView& record);
    void unmap(const RecordView& record);
    void alloc(const RecordView& record);
    void free_block(const RecordView& record);
    void first_touch(const RecordView& record);
    void placement(const RecordView& record);
    void phase(const RecordView& record);
    struct PendingSample {
        uint32_t site;
        uint32_t phase;
        double weight;
        uint64_t time;
        bool whole;
    };
    void sample(const RecordView& record);
    void attribute_samples(WindowPages pages, uint64_t time);
    void attribute(const PendingSample& sample, uint32_t page, uint64_t time);
    // Whose accesses.
    struct Counter {
        uint32_t thread;
        uint32_t phase;
        bool of_lines;  // counts are of lines instead: see CountsFlags
    };
    void count(uint32_t page, Counter by, CountPair counts, uint64_t time);
    void add_count(uint32_t owner, uint32_t page, Counter by, CountPair counts);
    void share_out(uint32_t page, Counter by, CountPair counts,
                   const std::vector<PageShares::Share>& shares);
    ThreadRow& thread_row(uint32_t thread);
    // The thread with this os_tid at a time: the last that began before, since numbers are used
    // again; or else the next, whose beginning was noted only after its first faults.
    std::optional<uint32_t> thread_at(uint32_t os_tid, uint64_t time) const;
    void add_cpu(ThreadRow& row, uint32_t cpu);

    Replay& out_;
    PageOwners owners_;
    FirstTouches touches_;
    std::unordered_map<uint32_t, size_t> thread_rows_;
    // os_tid -> when its threads began, and their numbers; ascending
    std::unordered_map<uint32_t, std::vector<std::pair<uint64_t, uint32_t>>> starts_;
    std::map<uint32_t, std::vector<PendingSample>> samples_;  // by page, not attributed yet
    bool with_faults_ = false;
    struct PendingFault {
        uint32_t thread;
        uint64_t pc;  // of a hinting fault
        uint64_t time;
        bool hinting;
    };
    std::map<uint32_t, std::vector<PendingFault>> faults_;  // by page, not counted yet
    PageRanges unmapped_;  // with faults: what was, as indices of when it was so last
    std::vector<uint64_t> unmappings_;
    SiteCounts sites_;
};

ThreadRow& Replayer::thread_row(uint32_t thread) {
    const auto [at, fresh] = thread_rows_.try_emplace(thread, out_.threads.size());
    if (fresh) {
        out_.threads.push_back({thread, 0, 0, 0, "", {}, kUnknownCpu});
    }
    return out_.threads[at->second];
}

void Replayer::add_cpu(ThreadRow& row, uint32_t cpu) {
    if (cpu != kUnknownCpu && std::find(row.cpus.begin(), row.cpus.end(), cpu) == row.cpus.end()) {
        row.cpus.push_back(cpu);
    }
}

void Replayer::prepare(const std::vector<RecordView>& records) {
    for (const RecordView& record : records) {
        if (record.type() == RecordType::kCallStack) {
            const auto& stack = record.as<CallStackRecord>();
            const auto rest = record.rest<CallStackRecord>().first(stack.bytes);
            out_.call_stacks.try_emplace(
                stack.stack_id, CallStack{{std::begin(stack.registers), std::end(stack.registers)},
                                          {rest.begin(), rest.end()}});
        } else if (record.type() == RecordType::kSmallBlocks) {
            owners_.add_small(record.header->id, record.as<SmallBlocksRecord>());
        } else if (record.type() == RecordType::kThreadStart) {
            const auto& start = record.as<ThreadStartRecord>();
            starts_[start.os_tid].push_back({start.time, record.header->id});
        } else if (record.type() == RecordType::kBlock) {
            sites_.describe(record);
        } else if (record.type() == RecordType::kPlace) {
            const auto& place = record.as<PlaceRecord>();
            out_.places.push_back(
                {place.pc, place.line, std::string(text_of(record.rest<PlaceRecord>()))});
        }
    }
    for (auto& [os_tid, starts] : starts_) {
        std::sort(starts.begin(), starts.end());
    }
}

void Replayer::run(std::vector<RecordView> records, const std::vector<Fault>& faults,
                   const ShardHeader& header) {
    std::erase_if(records, [](const RecordView& record) {
        return record.type() == RecordType::kCallStack ||
               record.type() == RecordType::kSmallBlocks || record.type() == RecordType::kBlock ||
               record.type() == RecordType::kPlace;
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

std::optional<uint32_t> Replayer::thread_at(uint32_t os_tid, uint64_t time) const {
    const auto at = starts_.find(os_tid);
    if (at == starts_.end()) {
        return std::nullopt;
    }
    const auto& starts = at->second;
    const auto later = std::upper_bound(starts.begin(), starts.end(), std::pair{time, ~0U});
    return later == starts.begin() ? starts.front().second : std::prev(later)->second;
}

void Replayer::apply(const Fault& fault, uint64_t time, uint64_t since) {
    const auto by = owners_.module_path(window_page(fault.pc));
    if (by && by->ends_with(kRuntimeName)) {
        return;  // the recorder's own memory
    }
    const uint32_t page = window_page(fault.address);
    const std::optional<uint32_t> known = thread_at(fault.tid, time);
    const uint32_t thread = known.value_or(0);
    if (known) {
        add_cpu(thread_row(thread), fault.cpu);
    }
    const bool by_kernel = fault.pc >> 47 != 0;  // in a system call, for this thread
    const bool first = is_first_touch(fault, page, since);
    if (!first && fault.meaning == FaultMeaning::kHinting) {
        faults_[page].push_back({thread, by_kernel ? 0 : fault.pc, time, true});
        out_.hinting.thread.push_back(thread);
        out_.hinting.time.push_back(time);
        return;
    }
    Touch& touch = touches_.at(page);
    if (first && !touch.present) {
        const uint8_t flags = by_kernel ? kTouchedByKernel : 0;
        touch = {time, by_kernel ? 0 : fault.pc, thread, 0, flags, true, false};
    }
    faults_[page].push_back({thread, 0, time, false});
}

// What was in memory may have been unmapped since, and this be another mapping's.
bool Replayer::is_first_touch(const Fault& fault, uint32_t page, uint64_t since) const {
    const auto gone = unmapped_.find(page);
    return fault.meaning == FaultMeaning::kFirstTouch || (gone && unmappings_[*gone] > since);
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
            map(record);
            break;
        case RecordType::kUnmap:
            unmap(record);
            break;
        case RecordType::kAlloc:
            alloc(record);
            break;
        case RecordType::kFree:
            free_block(record);
            break;
        case RecordType::kCounts: {
            const auto& counts = record.as<CountsRecord>();
            const auto* pairs =
                reinterpret_cast<const CountPair*>(record.rest<CountsRecord>().data());
            for (uint32_t i = 0; i < counts.pages; ++i) {
                count(
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
            sample(record);
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
    if ((record.header->flags & kWrittenAfterReads) != 0 && owners_.is_of_shared_mapping(page)) {
        return;  // the first read already had the kernel place the page
    }
    touches_.at(page) = {
        touch.time,           touch.pc, record.thread, static_cast<uint16_t>(touch.phase),
        record.header->flags, true,     false};
}

void Replayer::thread_start(const RecordView& record) {
    const auto& start = record.as<ThreadStartRecord>();
    ThreadRow& row = thread_row(record.header->id);
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
    ThreadRow& row = thread_row(record.header->id);
    row.end = end.time;
    row.name = text_of(std::as_bytes(std::span(end.name)));
    add_cpu(row, end.cpu);
    if (const auto stack = owners_.stack_of(record.header->id)) {
        touches_.emit(*stack);
        attribute_samples(stack->pages, end.time);
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
        touches_.emit_remaining(pages);
        attribute_samples(pages, module.time);
        owners_.unload_module(pages);
    }
}

void Replayer::map(const RecordView& record) {
    const auto& mapped = record.as<MapRecord>();
    if (mapped.bytes != 0 && mapped.bytes <= kWindowMask) {
        owners_.map(mapped, text_of(record.rest<MapRecord>()), record.header->flags);
    }
}

void Replayer::unmap(const RecordView& record) {
    const auto& gone = record.as<UnmapRecord>();
    if (gone.bytes == 0 || gone.bytes > kWindowMask) {
        return;
    }
    const auto pages = WindowPages::of(gone.start, gone.bytes);
    touches_.emit_remaining(pages);
    attribute_samples(pages, gone.time);
    touches_.forget(pages);
    if (with_faults_) {
        unmapped_.assign(pages.first, pages.end, static_cast<uint32_t>(unmappings_.size()));
        unmappings_.push_back(gone.time);
    }
    owners_.unmap(pages);
}

void Replayer::alloc(const RecordView& record) {
    const auto& block = record.as<AllocRecord>();
    if (block.bytes != 0 && block.bytes <= kWindowMask) {
        owners_.allocate(block);
    }
}

void Replayer::free_block(const RecordView& record) {
    const auto& freed = record.as<FreeRecord>();
    if (const auto block = owners_.block_at(freed.address)) {
        touches_.emit(*block);
        attribute_samples(block->pages, freed.time);
        owners_.free(freed.address, freed.time);
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
        // With faults, placement was asked for all memory; only what was touched is of a structure.
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

void Replayer::sample(const RecordView& record) {
    const auto& sample = record.as<SampleRecord>();
    samples_[record.header->id].push_back({sample.site, sample.phase,
                                           static_cast<double>(sample.weight), sample.time,
                                           (record.header->flags & kSampleWhole) != 0});
}

// Faults and samples belong to whom the counts of their page belong, which is known when these
// leave the tables: at `time`.
void Replayer::attribute_samples(WindowPages pages, uint64_t time) {
    auto fault = faults_.lower_bound(pages.first);
    for (; fault != faults_.end() && fault->first < pages.end; fault = faults_.erase(fault)) {
        for (const PendingFault& each : fault->second) {
            const uint64_t hinting = each.hinting ? 1 : 0;
            count(fault->first, {each.thread, 0, false}, {hinting, 1 - hinting}, time);
            if (each.pc != 0) {
                const uint32_t site = sites_.add_read(each.pc);
                attribute({site, 0, 1, each.time, true}, fault->first, time);
            }
        }
    }
    auto at = samples_.lower_bound(pages.first);
    for (; at != samples_.end() && at->first < pages.end; at = samples_.erase(at)) {
        for (const PendingSample& sample : at->second) {
            attribute(sample, at->first, time);
        }
    }
}

void Replayer::attribute(const PendingSample& sample, uint32_t page, uint64_t time) {
    const auto add = [&](uint32_t owner, double share) {
        const bool module = owners_.kind(owner) == OwnerKind::kModule;
        sites_.add_sample(sample.site, sample.phase, owner,
                          module ? owners_.index_in(owner, page) : 0, sample.weight * share,
                          sample.whole && share == 1 ? sample.weight : 0);
    };
    if (const auto owner = owners_.sole(page)) {
        add(*owner, 1);
        return;
    }
    const auto shares = owners_.shares(page, sample.time, std::max(time, sample.time + 1));
    double total = 0;
    for (const PageShares::Share& share : shares) {
        total += share.weight;
    }
    for (const PageShares::Share& share : shares) {
        add(share.owner, share.weight / total);
    }
}

void Replayer::add_count(uint32_t owner, uint32_t page, Counter by, CountPair counts) {
    if (counts.reads == 0 && counts.writes == 0) {
        return;
    }
    out_.counts.owner.push_back(owner);
    out_.counts.page.push_back(owners_.index_in(owner, page));
    out_.counts.thread.push_back(by.thread);
    out_.counts.phase.push_back(by.phase);
    out_.counts.reads.push_back(by.of_lines ? 0 : counts.reads);
    out_.counts.writes.push_back(by.of_lines ? 0 : counts.writes);
    out_.counts.fetched_lines.push_back(by.of_lines ? counts.reads : 0);
    out_.counts.dirtied_lines.push_back(by.of_lines ? counts.writes : 0);
}

void Replayer::count(uint32_t page, Counter by, CountPair counts, uint64_t time) {
    if (const auto owner = owners_.sole(page)) {
        add_count(*owner, page, by, counts);
    } else {
        const auto row = thread_rows_.find(by.thread);
        const uint64_t since = row == thread_rows_.end() ? 0 : out_.threads[row->second].start;
        share_out(page, by, counts, owners_.shares(page, since, time));
    }
    if (!by.of_lines && owners_.is_ambiguous(page)) {
        out_.ambiguous_pages += 1;
    }
}

// Integer parts by cumulative rounding: the parts add up to the whole.
void Replayer::share_out(uint32_t page, Counter by, CountPair counts,
                         const std::vector<PageShares::Share>& shares) {
    double total = 0;
    for (const PageShares::Share& share : shares) {
        total += share.weight;
    }
    if (shares.size() > 1 && !by.of_lines) {
        out_.shared_page_accesses += counts.reads + counts.writes;
    }
    const auto part = [](uint64_t whole, double fraction) {
        return std::min(whole, static_cast<uint64_t>(static_cast<double>(whole) * fraction));
    };
    double so_far = 0;
    CountPair given{0, 0};
    for (size_t i = 0; i < shares.size(); ++i) {
        so_far += shares[i].weight;
        CountPair upto{part(counts.reads, so_far / total), part(counts.writes, so_far / total)};
        if (i + 1 == shares.size()) {
            upto = counts;
        }
        add_count(shares[i].owner, page, by,
                  {upto.reads - given.reads, upto.writes - given.writes});
        given = upto;
    }
}

void Replayer::finish(const ShardReader& shard) {
    shard.each_table_entry(
        [&](const ShardReader::TableCount& entry) {
            count(entry.page, {entry.thread, entry.phase, entry.of_lines}, entry.counts,
                  shard.header().last_ticks);
        },
        [&](const ShardReader::TableCounter& counter) {
            sites_.add_counter(counter.number, counter.phase, counter.words);
        });
    attribute_samples(WindowPages::all(), shard.header().last_ticks);
    sites_.finish(out_.sites, out_.samples);
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
    return static_cast<uint32_t>(kind.size() - 1);
}

Replay replay(const ShardReader& shard, const std::vector<const ShardReader*>& parents,
              const std::vector<Fault>& faults) {
    Replay out;
    Replayer replayer(out);
    for (const ShardReader* parent : parents) {
        replayer.prepare(parent->records());
    }
    auto records = shard.records();
    replayer.prepare(records);
    replayer.run(std::move(records), faults, shard.header());
    replayer.finish(shard);
    return out;
}

}  // namespace numascape
