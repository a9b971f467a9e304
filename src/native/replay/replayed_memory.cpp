// SPDX-License-Identifier: Apache-2.0
//
// Replays the records that change the owners of pages.
#include <string>

#include "replayer.h"
#include "window_pages.h"

namespace numascape {

void Replayer::apply_to_memory(const RecordView& record) {
    switch (record.type()) {
        case RecordType::kFirstTouch:
            first_touch(record);
            break;
        case RecordType::kModuleLoad:
            module_load(record);
            break;
        case RecordType::kModuleUnload:
            module_unload(record);
            break;
        case RecordType::kMap:
            used_windows_.insert(record.as<MapRecord>().start >> kWindowBits);
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
        case RecordType::kAdvice:
            mappings_.advise(record);
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
        case RecordType::kMemoryRegionEnd:
            end_region(record);
            break;
        case RecordType::kThreadPointer:
            begin_thread_variables(record);
            break;
        case RecordType::kStackFrame:
            begin_frame(record);
            break;
        case RecordType::kStackFrameEnd:
            end_frame(record);
            break;
        case RecordType::kPlacement:
            placement(record);
            break;
        default:
            break;
    }
}

void Replayer::first_touch(const RecordView& record) {
    const auto& touch = record.as<FirstTouchRecord>();
    const uint32_t page = record.header->id;
    const bool writes = (record.header->flags & kTouchWrites) != 0;
    // Bursts do not see all touches; page faults do. Only some of the first touches would mislead.
    if (of_bursts_ && (!with_faults_ || (record.header->flags & kTouchedByKernel) == 0)) {
        return;
    }
    Touch& known = touches_.at(page);
    const bool is_there = known.present && !known.forgotten;
    // In shared memory, the kernel places the page at the first read already.
    if (is_there && (known.written || !writes || owners_.is_of_shared_mapping(page))) {
        return;
    }
    known = {touch.time,
             touch.pc,
             touch.callers_id,
             record.thread,
             static_cast<uint16_t>(touch.phase),
             record.header->flags,
             true,
             false,
             writes,
             false,
             false};
}

void Replayer::module_load(const RecordView& record) {
    const auto& module = record.as<ModuleRecord>();
    if (module.end <= module.start) {
        return;
    }
    used_windows_.insert(module.start >> kWindowBits);
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
    if (PageOwners::can_have(block)) {
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

bool Replayer::can_have_region(const MemoryRegionRecord& region) const {
    return region.bytes >= kPageBytes && region.bytes <= kWindowMask &&
           out_.region_names.contains(region.name_id);
}

void Replayer::begin_region(const RecordView& record) {
    const auto& region = record.as<MemoryRegionRecord>();
    if (!can_have_region(region)) {
        return;
    }
    end_regions_within(region.address, region.bytes, region.time);
    pending_.attribute(WindowPages::of(region.address, region.bytes), region.time);
    owners_.begin_region(region);
}

void Replayer::end_region(const RecordView& record) {
    const auto& ended = record.as<MemoryRegionEndRecord>();
    if (const auto owner = owners_.regions().last_at(ended.address)) {
        end_region(*owner, ended.time);
    }
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

void Replayer::begin_thread_variables(const RecordView& record) {
    const auto& thread = record.as<ThreadPointerRecord>();
    for (const auto& [variable, address, bytes] : frames_.thread_variables(thread.pointer)) {
        end_regions_within(address, bytes, thread.time);
        pending_.attribute(WindowPages::of(address, bytes), thread.time);
        // Threads that run one after the other may have the variable at the same address: these are
        // then one instance.
        owners_.begin_variable({address, bytes, variable, 0}, thread.time);
    }
}

void Replayer::begin_frame(const RecordView& record) {
    const auto& frame = record.as<StackFrameRecord>();
    for (const auto& [variable, address, bytes] : frames_.variables(record)) {
        end_regions_within(address, bytes, frame.time);
        pending_.attribute(WindowPages::of(address, bytes), frame.time);
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

}  // namespace numascape
