// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "page_ranges.h"
#include "page_shares.h"
#include "site_counts.h"

namespace numascape {
namespace {

constexpr uint64_t kForever = ~uint64_t{0};
constexpr std::string_view kRuntimeName = "/libnumascape_runtime.so";
constexpr uint32_t kNoOwner = ~uint32_t{0};

uint32_t page_of(uint64_t address) {
    return window_page(address);
}
// One past the last page of [start, start + bytes), bounded to the window.
uint32_t end_page(uint64_t start, uint64_t bytes) {
    if (bytes == 0) {
        return page_of(start);
    }
    const uint64_t last = ((start & kWindowMask) + std::min(bytes, kWindowMask) - 1) >> kPageShift;
    return static_cast<uint32_t>(std::min(last + 1, kWindowPages));
}

struct Touch {
    uint64_t time = 0;
    uint64_t pc = 0;
    uint32_t thread = 0;
    uint16_t phase = 0;
    uint8_t flags = 0;
    bool present = false;
    bool attributed = false;
};

// The last first touch of every page, in granules allocated on demand.
class Touches {
  public:
    Touch& at(uint32_t page) {
        auto& granule = granules_[page / kSlotsPerGranule];
        if (granule == nullptr) {
            granule = std::make_unique<Granule>();
        }
        return (*granule)[page % kSlotsPerGranule];
    }
    template <typename Visit>
    void each(uint32_t first, uint32_t end, Visit visit) {
        for (uint32_t page = first; page < end;) {
            const uint32_t granule_end = (page / kSlotsPerGranule + 1) * kSlotsPerGranule;
            const auto& granule = granules_[page / kSlotsPerGranule];
            if (granule == nullptr) {
                page = granule_end;
                continue;
            }
            for (; page < std::min(end, granule_end); ++page) {
                Touch& touch = (*granule)[page % kSlotsPerGranule];
                if (touch.present) {
                    visit(page, touch);
                }
            }
        }
    }

  private:
    using Granule = std::array<Touch, kSlotsPerGranule>;
    std::vector<std::unique_ptr<Granule>> granules_ =
        std::vector<std::unique_ptr<Granule>>(kGranules);
};

class Replayer {
  public:
    explicit Replayer(Replay& out) : out_(out) {
        out_.paths.emplace_back();
        unknown_ = out_.owners.add(OwnerKind::kUnknown, 0, 0, 0, 0, 0, 0, 1);
    }

    // Small blocks and call stacks; `own` false for what a parent process did.
    void prepare(const std::vector<RecordView>& records);
    void run(std::vector<RecordView> records, const std::vector<FaultEntry>& faults,
             const ShardHeader& header);
    void finish(const ShardReader& shard);

  private:
    void apply(const RecordView& record);
    void apply(const FaultEntry& fault, uint64_t time);
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
    };
    void sample(const RecordView& record);
    void attribute_samples(uint32_t first, uint32_t end, uint64_t time);
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
    void emit_touches(uint32_t first, uint32_t end, uint32_t owner);
    void emit_touch(uint32_t owner, uint32_t page, Touch& touch);
    void emit_remaining_touches(uint32_t first, uint32_t end);
    // The one owner of the page, or kNoOwner when it is shared (see shares_).
    uint32_t sole_owner(uint32_t page) const;
    uint32_t surrounding(uint32_t page) const;
    uint32_t index_in(uint32_t owner, uint32_t page) const;
    uint32_t path_index(std::string_view path);
    ThreadRow& thread_row(uint32_t thread);
    void add_cpu(ThreadRow& row, uint32_t cpu);

    Replay& out_;
    uint32_t unknown_;
    PageRanges blocks_, stacks_, modules_, mappings_;
    std::unordered_map<uint64_t, uint32_t> live_blocks_;  // address -> owner
    PageShares shares_;
    std::unordered_map<uint64_t, uint32_t> small_sites_;  // stack id -> owner
    std::unordered_map<std::string, uint32_t> path_indices_;
    std::unordered_map<uint32_t, size_t> thread_rows_;
    std::unordered_map<uint32_t, uint64_t> mapping_high_;  // mapping owner -> address >> 40
    std::vector<std::pair<uint32_t, uint32_t>> ambiguous_;
    std::unordered_map<uint32_t, uint32_t> stack_of_thread_;
    Touches touches_;
    std::map<uint32_t, std::vector<PendingSample>> samples_;  // by page, not attributed yet
    bool with_faults_ = false;
    std::map<uint32_t, std::vector<uint32_t>> faults_;  // threads by page, not counted yet
    SiteCounts sites_;
};

uint32_t Replayer::path_index(std::string_view path) {
    if (path.empty()) {
        return 0;
    }
    const auto [at, fresh] =
        path_indices_.try_emplace(std::string(path), static_cast<uint32_t>(out_.paths.size()));
    if (fresh) {
        out_.paths.emplace_back(path);
    }
    return at->second;
}

ThreadRow& Replayer::thread_row(uint32_t thread) {
    const auto [at, fresh] = thread_rows_.try_emplace(thread, out_.threads.size());
    if (fresh) {
        out_.threads.push_back({thread, 0, 0, 0, "", {}});
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
            const auto& small = record.as<SmallBlocksRecord>();
            if (small.blocks == 0) {
                continue;
            }
            const auto [site, fresh] = small_sites_.try_emplace(small.stack_id, 0);
            if (fresh) {
                site->second = out_.owners.add(OwnerKind::kSmall, 0, 0, small.stack_id, 0, 0, 0, 0);
            }
            out_.owners.bytes[site->second] += small.bytes;
            out_.owners.blocks[site->second] += small.blocks;
            shares_.add_small(record.header->id, site->second, small.bytes);
        } else if (record.type() == RecordType::kBlock) {
            sites_.describe(record);
        } else if (record.type() == RecordType::kPlace) {
            const auto& place = record.as<PlaceRecord>();
            out_.places.push_back(
                {place.pc, place.line, std::string(text_of(record.rest<PlaceRecord>()))});
        }
    }
}

void Replayer::run(std::vector<RecordView> records, const std::vector<FaultEntry>& faults,
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
    const auto time_of_fault = [&](const FaultEntry& fault) {
        const double since = static_cast<double>(static_cast<int64_t>(fault.time_ns) -
                                                 static_cast<int64_t>(header.start_ns));
        const double at = ns > 0 ? since * ticks / ns : 0;
        return at > 0 ? header.start_ticks + static_cast<uint64_t>(at) : header.start_ticks;
    };
    with_faults_ = !faults.empty();
    auto fault = faults.begin();
    const auto apply_faults = [&](uint64_t before) {
        for (; fault != faults.end() && time_of_fault(*fault) < before; ++fault) {
            apply(*fault, time_of_fault(*fault));
        }
    };
    for (const RecordView& record : records) {
        apply_faults(time_of(record));
        apply(record);
    }
    apply_faults(kForever);
}

// A thread that had no recorder yet began with one of its first faults.
void Replayer::apply(const FaultEntry& fault, uint64_t time) {
    const auto by = modules_.find(page_of(fault.pc));
    if (by && std::string_view(out_.paths[out_.owners.path[*by]]).ends_with(kRuntimeName)) {
        return;  // the recorder's own memory
    }
    const uint32_t page = page_of(fault.address);
    const auto row = std::find_if(out_.threads.begin(), out_.threads.end(),
                                  [&](const ThreadRow& each) { return each.os_tid == fault.tid; });
    const uint32_t thread = row == out_.threads.end() ? 0 : row->thread;
    if (row != out_.threads.end()) {
        add_cpu(*row, fault.cpu);
    }
    Touch& touch = touches_.at(page);
    if (!touch.present) {
        const bool by_kernel = fault.pc >> 47 != 0;  // in a system call, for this thread
        const uint8_t flags = by_kernel ? kTouchedByKernel : 0;
        touch = {time, by_kernel ? 0 : fault.pc, thread, 0, flags, true, false};
    }
    faults_[page].push_back(thread);
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
    if ((record.header->flags & kWrittenAfterReads) != 0) {
        const auto mapping = mappings_.find(page);
        if (mapping && (out_.owners.flags[*mapping] & kMapShared) != 0) {
            return;  // the first read already had the kernel place the page
        }
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
    add_cpu(row, start.cpu);
    if (start.stack_end > start.stack_start) {
        const uint64_t bytes = start.stack_end - start.stack_start;
        const uint32_t owner = out_.owners.add(OwnerKind::kStack, start.stack_start, bytes, 0,
                                               record.header->id, 0, 0, 1);
        stacks_.assign(page_of(start.stack_start), end_page(start.stack_start, bytes), owner);
        stack_of_thread_[record.header->id] = owner;
    }
}

void Replayer::thread_end(const RecordView& record) {
    const auto& end = record.as<ThreadEndRecord>();
    ThreadRow& row = thread_row(record.header->id);
    row.end = end.time;
    row.name = text_of(std::as_bytes(std::span(end.name)));
    add_cpu(row, end.cpu);
    const auto at = stack_of_thread_.find(record.header->id);
    if (at != stack_of_thread_.end()) {
        const uint64_t start = out_.owners.start[at->second];
        const uint32_t last = end_page(start, out_.owners.bytes[at->second]);
        emit_touches(page_of(start), last, at->second);
        attribute_samples(page_of(start), last, end.time);
    }
}

void Replayer::module_load(const RecordView& record) {
    const auto& module = record.as<ModuleRecord>();
    if (module.end <= module.start) {
        return;
    }
    const auto path = text_of(record.rest<ModuleRecord>());
    const uint64_t bytes = module.end - module.start;
    const uint32_t owner =
        out_.owners.add(OwnerKind::kModule, module.start, bytes, 0, 0, path_index(path), 0, 1);
    modules_.assign(page_of(module.start), end_page(module.start, bytes), owner);
    out_.modules.push_back({std::string(path), module.start, module.end, module.load_bias, owner});
}

void Replayer::module_unload(const RecordView& record) {
    const auto& module = record.as<ModuleRecord>();
    if (module.end > module.start) {
        const uint32_t first = page_of(module.start);
        const uint32_t end = end_page(module.start, module.end - module.start);
        emit_remaining_touches(first, end);
        attribute_samples(first, end, module.time);
        modules_.erase(first, end);
    }
}

void Replayer::map(const RecordView& record) {
    const auto& mapped = record.as<MapRecord>();
    if (mapped.bytes == 0 || mapped.bytes > kWindowMask) {
        return;
    }
    const uint32_t first = page_of(mapped.start);
    const uint32_t end = end_page(mapped.start, mapped.bytes);
    const uint64_t high = mapped.start >> kWindowBits;
    for (auto at = mappings_.all().lower_bound(first);
         at != mappings_.all().end() && at->first < end; ++at) {
        if (mapping_high_[at->second.value] != high) {
            ambiguous_.emplace_back(std::max(first, at->first), std::min(end, at->second.end));
        }
    }
    const uint32_t owner =
        out_.owners.add(OwnerKind::kMapping, mapped.start, mapped.bytes, mapped.stack_id, 0,
                        path_index(text_of(record.rest<MapRecord>())), record.header->flags, 1);
    mapping_high_[owner] = high;
    mappings_.assign(first, end, owner);
}

void Replayer::unmap(const RecordView& record) {
    const auto& gone = record.as<UnmapRecord>();
    if (gone.bytes == 0 || gone.bytes > kWindowMask) {
        return;
    }
    const uint32_t first = page_of(gone.start);
    const uint32_t end = end_page(gone.start, gone.bytes);
    emit_remaining_touches(first, end);
    attribute_samples(first, end, gone.time);
    touches_.each(first, end, [](uint32_t, Touch& touch) { touch.present = false; });
    mappings_.erase(first, end);
    modules_.erase(first, end);
    blocks_.erase(first, end);
}

void Replayer::alloc(const RecordView& record) {
    const auto& block = record.as<AllocRecord>();
    if (block.bytes == 0 || block.bytes > kWindowMask) {
        return;
    }
    const uint32_t owner =
        out_.owners.add(OwnerKind::kBlock, block.address, block.bytes, block.stack_id, 0, 0, 0, 1);
    live_blocks_[block.address] = owner;
    const uint32_t first = page_of(block.address);
    const uint32_t end = end_page(block.address, block.bytes);
    const bool exclusive =
        block.exclusive_end > block.exclusive_start &&
        block.exclusive_end - block.exclusive_start <= block.bytes + 2 * kPageBytes;
    const uint32_t own_first = exclusive ? std::max(page_of(block.exclusive_start), first) : end;
    const uint32_t own_end =
        exclusive
            ? std::min(end_page(block.exclusive_start, block.exclusive_end - block.exclusive_start),
                       end)
            : end;
    if (own_first < own_end) {
        blocks_.assign(own_first, own_end, owner);
    }
    // Pages at the ends that hold other blocks too.
    for (uint32_t page = first; page < std::min(own_first, end); ++page) {
        const uint64_t low = page == first ? block.address % kPageBytes : 0;
        const uint64_t high =
            page + 1 == end ? low + std::min(block.bytes, kPageBytes - low) : kPageBytes;
        shares_.add_block(page, owner, high - low, block.time);
    }
    for (uint32_t page = std::max(own_end, own_first); page < end; ++page) {
        const uint64_t in_last = (block.address + block.bytes) % kPageBytes;
        shares_.add_block(page, owner, in_last == 0 ? kPageBytes : in_last, block.time);
    }
}

void Replayer::free_block(const RecordView& record) {
    const auto& freed = record.as<FreeRecord>();
    const auto at = live_blocks_.find(freed.address);
    if (at == live_blocks_.end()) {
        return;
    }
    const uint32_t owner = at->second;
    const uint32_t first = page_of(out_.owners.start[owner]);
    const uint32_t end = end_page(out_.owners.start[owner], out_.owners.bytes[owner]);
    emit_touches(first, end, owner);
    attribute_samples(first, end, freed.time);
    blocks_.erase_value(first, end, owner);  // an overlapping later block keeps its pages
    for (const uint32_t page : {first, first + 1, end - 2, end - 1}) {  // where it may share
        if (page >= first && page < end) {
            shares_.end_block(page, owner, freed.time);
        }
    }
    live_blocks_.erase(at);
}

void Replayer::placement(const RecordView& record) {
    const auto& placed = record.as<PlacementRecord>();
    const auto* nodes = reinterpret_cast<const int16_t*>(record.rest<PlacementRecord>().data());
    for (uint32_t i = 0; i < placed.pages; ++i) {
        const uint32_t page = placed.first_page + i;
        const auto add = [&](uint32_t owner) {
            out_.placement.owner.push_back(owner);
            out_.placement.page.push_back(index_in(owner, page));
            out_.placement.node.push_back(nodes[i]);
        };
        // With faults, placement was asked for all memory; only what was touched is of a structure.
        if (nodes[i] < 0 || (with_faults_ && !touches_.at(page).present)) {
            continue;
        }
        const uint32_t owner = sole_owner(page);
        if (owner != kNoOwner) {
            add(owner);
            continue;
        }
        for (const uint32_t each : shares_.owners(page)) {
            add(each);
        }
    }
}

void Replayer::sample(const RecordView& record) {
    const auto& sample = record.as<SampleRecord>();
    samples_[record.header->id].push_back(
        {sample.site, sample.phase, static_cast<double>(sample.weight), sample.time});
}

// Faults and samples belong to whom the counts of their page belong, which is known when these
// leave the tables: at `time`.
void Replayer::attribute_samples(uint32_t first, uint32_t end, uint64_t time) {
    auto fault = faults_.lower_bound(first);
    for (; fault != faults_.end() && fault->first < end; fault = faults_.erase(fault)) {
        for (const uint32_t thread : fault->second) {
            count(fault->first, {thread, 0, false}, {0, 1}, time);
        }
    }
    auto at = samples_.lower_bound(first);
    for (; at != samples_.end() && at->first < end; at = samples_.erase(at)) {
        for (const PendingSample& sample : at->second) {
            attribute(sample, at->first, time);
        }
    }
}

void Replayer::attribute(const PendingSample& sample, uint32_t page, uint64_t time) {
    const auto add = [&](uint32_t owner, double share) {
        const bool module = static_cast<OwnerKind>(out_.owners.kind[owner]) == OwnerKind::kModule;
        sites_.add_sample(sample.site, sample.phase, owner, module ? index_in(owner, page) : 0,
                          sample.weight * share);
    };
    const uint32_t owner = sole_owner(page);
    if (owner != kNoOwner) {
        add(owner, 1);
        return;
    }
    const auto shares = shares_.during(page, sample.time, std::max(time, sample.time + 1));
    double total = 0;
    for (const PageShares::Share& share : shares) {
        total += share.weight;
    }
    for (const PageShares::Share& share : shares) {
        add(share.owner, share.weight / total);
    }
}

uint32_t Replayer::surrounding(uint32_t page) const {
    return modules_.find(page).value_or(mappings_.find(page).value_or(unknown_));
}

uint32_t Replayer::sole_owner(uint32_t page) const {
    if (const auto block = blocks_.find(page)) {
        return *block;
    }
    if (const auto stack = stacks_.find(page)) {
        return *stack;
    }
    return shares_.contains(page) ? kNoOwner : surrounding(page);
}

uint32_t Replayer::index_in(uint32_t owner, uint32_t page) const {
    const auto kind = static_cast<OwnerKind>(out_.owners.kind[owner]);
    if (kind == OwnerKind::kSmall || kind == OwnerKind::kUnknown) {
        return page;
    }
    return page - page_of(out_.owners.start[owner]);
}

void Replayer::add_count(uint32_t owner, uint32_t page, Counter by, CountPair counts) {
    if (counts.reads == 0 && counts.writes == 0) {
        return;
    }
    out_.counts.owner.push_back(owner);
    out_.counts.page.push_back(index_in(owner, page));
    out_.counts.thread.push_back(by.thread);
    out_.counts.phase.push_back(by.phase);
    out_.counts.reads.push_back(by.of_lines ? 0 : counts.reads);
    out_.counts.writes.push_back(by.of_lines ? 0 : counts.writes);
    out_.counts.fetched_lines.push_back(by.of_lines ? counts.reads : 0);
    out_.counts.dirtied_lines.push_back(by.of_lines ? counts.writes : 0);
}

void Replayer::count(uint32_t page, Counter by, CountPair counts, uint64_t time) {
    const uint32_t owner = sole_owner(page);
    if (owner != kNoOwner) {
        add_count(owner, page, by, counts);
    } else {
        const auto row = thread_rows_.find(by.thread);
        const uint64_t since = row == thread_rows_.end() ? 0 : out_.threads[row->second].start;
        share_out(page, by, counts, shares_.during(page, since, time));
    }
    for (const auto& [first, end] : ambiguous_) {
        if (page >= first && page < end && !by.of_lines) {
            out_.ambiguous_pages += 1;
            break;
        }
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

void Replayer::emit_touch(uint32_t owner, uint32_t page, Touch& touch) {
    out_.touches.owner.push_back(owner);
    out_.touches.page.push_back(index_in(owner, page));
    out_.touches.thread.push_back(touch.thread);
    out_.touches.phase.push_back(touch.phase);
    out_.touches.time.push_back(touch.time);
    out_.touches.pc.push_back(touch.pc);
    out_.touches.flags.push_back(touch.flags);
    touch.attributed = true;
}

void Replayer::emit_touches(uint32_t first, uint32_t end, uint32_t owner) {
    touches_.each(first, end, [&](uint32_t page, Touch& touch) { emit_touch(owner, page, touch); });
}

// For pages that leave (or at the end): whoever has them now, unless a block that was freed there
// already told.
void Replayer::emit_remaining_touches(uint32_t first, uint32_t end) {
    touches_.each(first, end, [&](uint32_t page, Touch& touch) {
        const uint32_t owner = sole_owner(page);
        if (owner == kNoOwner) {
            for (const uint32_t each : shares_.owners(page)) {
                emit_touch(each, page, touch);
            }
            return;
        }
        const auto kind = static_cast<OwnerKind>(out_.owners.kind[owner]);
        const bool around = kind == OwnerKind::kMapping || kind == OwnerKind::kUnknown;
        if (!(around && touch.attributed)) {
            emit_touch(owner, page, touch);
        }
    });
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
    attribute_samples(0, static_cast<uint32_t>(kWindowPages), shard.header().last_ticks);
    sites_.finish(out_.sites, out_.samples);
    emit_remaining_touches(0, static_cast<uint32_t>(kWindowPages));
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
              const std::vector<FaultEntry>& faults) {
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
